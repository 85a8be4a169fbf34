package server

import (
	"net"
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

func (l addressList) has(address netip.Addr) bool {
	for _, prefix := range l {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// client is where a request comes from. What X-Forwarded-For says counts only as far as trusted proxies wrote it: its last
// address is by the proxy that the relay sees, and so on to the first that is no proxy.
func (l addressList) client(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	address = address.Unmap().WithZone("")
	if !l.has(address) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && l.has(address); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address
}
