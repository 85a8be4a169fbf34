package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A browser on this machine reaches listeners on a loopback address for any page that it shows. Therefore an ops listener on
// such an address refuses host names that somebody else can point at it (DNS rebinding), and a channel without credentials
// refuses requests from pages.

// isOwnHost reports whether the Host of a request names this machine. HTTP/1.0 without a Host does not come from a browser.
func isOwnHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(host)
	return host == "" || strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

// requireOwnHost refuses requests for another host, if the ops listener is on a loopback address.
func (s *Server) requireOwnHost(next http.Handler) http.Handler {
	if !s.opts.Local {
		return next
	}
	const message = "the ops listener is on a loopback address and answers only if Host is localhost, " +
		"127.0.0.1 or [::1]; if you use a proxy, let it send Host: localhost, and set admin_token"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOwnHost(r) {
			s.writeError(w, r, errorf(misdirected, message))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromPage reports whether a page in a browser sent a request. For the address bar, Sec-Fetch-Site is "none".
func fromPage(r *http.Request) bool {
	site := headerValue(r, "Sec-Fetch-Site")
	return headerValue(r, "Origin") != "" || site != "" && site != "none"
}
