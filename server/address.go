package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
)

// addressList are the addresses of an allow list, or of proxies that are trusted.
type addressList []netip.Prefix

// ParseAddresses reads addresses and ranges, as 10.0.0.7, 10.0.0.0/8 or fd00::/8. It answers the first that is none.
func ParseAddresses(texts []string) (all []netip.Prefix, wrong string) {
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

// mappedBits are those before an IPv4 address in IPv6.
const mappedBits = 96

// unmapped is a range of IPv4 addresses that was written as one of IPv6, as ::ffff:10.0.0.0/104. The addresses of requests
// are compared as IPv4.
func unmapped(prefix netip.Prefix) (netip.Prefix, error) {
	if !prefix.Addr().Is4In6() {
		return prefix, nil
	}
	return prefix.Addr().Unmap().Prefix(prefix.Bits() - mappedBits) //nolint:wrapcheck // only that there is one matters
}

func (l addressList) has(address netip.Addr) bool {
	for _, prefix := range l {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// client is where a request comes from. What X-Forwarded-For says counts only as far as trusted proxies wrote it: its last
// address is by the proxy that the relay sees, and so on to the first that is no proxy. Where such a proxy wrote what cannot
// be read, it is nobody.
func (l addressList) client(r *http.Request) netip.Addr {
	address, ok := hop(r.RemoteAddr)
	if !ok {
		return nobody("", r.RemoteAddr)
	}
	forwarded := r.Header.Values("X-Forwarded-For")
	if len(forwarded) == 0 {
		return address
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && l.has(address); i-- {
		next, ok := hop(hops[i])
		if !ok {
			return nobody(address.String(), hops[i])
		}
		address = next
	}
	return address
}

// hop reads an address, with or without a port: 192.0.2.1, 192.0.2.1:443, 2001:db8::1 or [2001:db8::1]:443.
func hop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	address, err := netip.ParseAddr(text)
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = with.Addr()
	}
	return address.Unmap().WithZone(""), true
}

// nobodyZone marks the addresses of those whose own cannot be read. No list has an address with a zone.
const nobodyZone = "nobody"

// nobody stands for who comes through a proxy that says what is no address. It is one for each such text, so that they do not
// share what one address may have in flight.
func nobody(proxy, text string) netip.Addr {
	sum := sha256.Sum256([]byte(proxy + "\x00" + text))
	return netip.AddrFrom16([16]byte(append([]byte{1}, sum[:15]...))).WithZone(nobodyZone) // 100::/8 is nobody's
}

// senderAt is what the sender at an address is called.
func senderAt(address netip.Addr) string {
	if address.Zone() != nobodyZone {
		return address.String()
	}
	bytes := address.As16()
	return "unknown-" + hex.EncodeToString(bytes[1:5])
}

// maxForwarded is how much of X-Forwarded-For is logged.
const maxForwarded = 200

// sayUnread warns of a proxy that does not say where requests come from.
func (s *Server) sayUnread(r *http.Request, channel string) {
	forwarded := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	s.opts.Logger.WarnContext(r.Context(), "cannot read the address of a sender", "channel", channel, "proxy", r.RemoteAddr,
		"x_forwarded_for", forwarded[:min(len(forwarded), maxForwarded)])
}
