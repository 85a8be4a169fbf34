package slackapp

import (
	"net"
	"net/url"
	"strings"
)

const useOpenable = "use the address that people open in a browser"

// ExternalURL checks the address of the dashboard to which messages link. It does not call the address: people reach it, and perhaps
// only they.
func ExternalURL(address string) []Finding {
	r := &report{subject: "external_url"}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.add(Warning, "is not a URL", "use one that begins with https://")
	case isOfThisMachine(u.Hostname()):
		r.add(Warning, "names this machine, so that links in messages lead each reader to their own", useOpenable)
	case isOfOneNetwork(u.Hostname()):
		r.add(Warning, "has a host that is known within one network only: "+u.Hostname(), useOpenable)
	case u.Scheme == "http":
		r.add(Warning, "is not encrypted: people sign in to the dashboard with the admin token", "use https")
	default:
		r.add(OK, "messages link to "+u.Host, "")
	}
	return r.findings
}

// isOfThisMachine reports whether a host means the machine that asks for it.
func isOfThisMachine(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isOfOneNetwork reports whether a host is a name without a domain, or that of a Service of Kubernetes.
func isOfOneNetwork(host string) bool {
	return !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local")
}
