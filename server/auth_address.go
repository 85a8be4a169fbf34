package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
)

// addressList is an allow list of addresses, or the trusted proxies.
type addressList []netip.Prefix

// ParseAddresses parses addresses and ranges, like 10.0.0.7, 10.0.0.0/8 or fd00::/8. If one is not valid, it returns that one.
func ParseAddresses(texts []string) (all []netip.Prefix, invalid string) {
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if prefix, err := netip.ParsePrefix(text); err == nil {
			if prefix, err = unmapped(prefix); err != nil {
				return nil, text
			}
			all = append(all, prefix.Masked())
			continue
		}
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, text
		}
		all = append(all, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
	}
	return all, ""
}

// mappedBits is the length of the prefix of an IPv4 address in IPv6.
const mappedBits = 96

// unmapped converts a range of IPv4 addresses in IPv6 notation, like ::ffff:10.0.0.0/104. Requests are compared as IPv4.
func unmapped(prefix netip.Prefix) (netip.Prefix, error) {
	if !prefix.Addr().Is4In6() {
		return prefix, nil
	}
	return prefix.Addr().Unmap().Prefix(prefix.Bits() - mappedBits) //nolint:wrapcheck // only whether there is one matters
}

func (l addressList) contains(address netip.Addr) bool {
	for _, prefix := range l {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// client returns the address that a request comes from. The list is that of the trusted proxies: X-Forwarded-For is read from
// its end, as long as the address before was a trusted proxy's. If such a proxy wrote something that is not an address, client
// returns unreadable.
func (l addressList) client(r *http.Request) netip.Addr {
	address, ok := parseHop(r.RemoteAddr)
	if !ok {
		return unreadable("", r.RemoteAddr)
	}
	forwarded := r.Header["X-Forwarded-For"]
	if len(forwarded) == 0 {
		return address
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && l.contains(address); i-- {
		next, ok := parseHop(hops[i])
		if !ok {
			return unreadable(address.String(), hops[i])
		}
		address = next
	}
	return address
}

// parseHop parses an address, with or without a port: 192.0.2.1, 192.0.2.1:443, 2001:db8::1 or [2001:db8::1]:443.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	withPort, err := netip.ParseAddrPort(text) // first, because the address of every request has a port
	address := withPort.Addr()
	if err != nil {
		if address, err = netip.ParseAddr(text); err != nil {
			return netip.Addr{}, false
		}
	}
	return address.Unmap().WithZone(""), true
}

// unreadableZone marks the addresses that unreadable makes. No allow list contains an address with a zone.
const unreadableZone = "nobody"

// unreadable makes an address for a sender whose proxy wrote something that is not an address. It differs for each such text, so
// that these senders do not share the limits of one address.
func unreadable(proxy, text string) netip.Addr {
	sum := sha256.Sum256([]byte(proxy + "\x00" + text))
	return netip.AddrFrom16([16]byte(append([]byte{1}, sum[:15]...))).WithZone(unreadableZone) // 100::/8 is reserved
}

// addressName returns the name of a sender that is known by its address alone.
func addressName(address netip.Addr) string {
	if address.Zone() != unreadableZone {
		return address.String()
	}
	bytes := address.As16()
	return "unknown-" + hex.EncodeToString(bytes[1:5])
}

// maxForwarded is how many bytes of X-Forwarded-For are logged.
const maxForwarded = 200

// logUnreadable warns of a proxy that does not write an address into X-Forwarded-For.
func (s *Server) logUnreadable(r *http.Request, channel string) {
	forwarded := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	s.opts.Logger.WarnContext(r.Context(), "sender address not readable", "channel", channel, "proxy", r.RemoteAddr,
		"x_forwarded_for", forwarded[:min(len(forwarded), maxForwarded)])
}
