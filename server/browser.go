package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A browser on this machine reaches what listens on a loopback address, for any page that it shows. So on such an ops
// listener a name that somebody else can point here is refused (DNS rebinding), and where a channel asks for no credential,
// so is what a page sends.

// ownHost tells whether a request names this machine, as only those can who mean it. HTTP/1.0 without a Host is no browser.
func ownHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(host)
	return host == "" || strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

// onlyOwnHost answers only requests that name this machine, where the ops listener is on a loopback address.
func (s *Server) onlyOwnHost(next http.Handler) http.Handler {
	if !s.opts.Local {
		return next
	}
	refused := s.handle(func(http.ResponseWriter, *http.Request) error {
		return errorf(misdirected, "the ops listener is on a loopback address and answers only if Host is localhost, "+
			"127.0.0.1 or [::1]; if you use a proxy, let it send Host: localhost, and set admin_token")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ownHost(r) {
			refused.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// byPage tells whether a page had a browser send a request. What a person types into the address bar is "none".
func byPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") != "" || site != "" && site != "none"
}
