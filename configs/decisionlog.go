package configs

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// headerLine is a header with a value of printable ASCII.
var headerLine = regexp.MustCompile(`^([A-Za-z0-9_-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)[ \t]*$`)

// DecisionLogStdout is the value of decision_log for standard output.
const DecisionLogStdout = "stdout"

// IsDecisionLogURL reports whether a value of decision_log is a URL, and no path.
func IsDecisionLogURL(to string) bool { return strings.Contains(to, "://") }

// DecisionHeader returns the header of decision_log_header, empty if it is not set. ok is false if it is not a header.
func (c *Config) DecisionHeader() (header http.Header, ok bool) {
	header = http.Header{}
	if c.DecisionLogHeader == "" {
		return header, true
	}
	parts := headerLine.FindStringSubmatch(string(c.DecisionLogHeader))
	if parts == nil {
		return nil, false
	}
	header.Set(parts[1], parts[2])
	return header, true
}

func (c *Config) validateDecisionLog(v validator) {
	if _, ok := c.DecisionHeader(); !ok {
		v.fault("decision_log_header", "the value is not a header; use name: value, for example Authorization: Bearer ...")
	}
	if !IsDecisionLogURL(c.DecisionLog) {
		if c.DecisionLogHeader != "" {
			v.fault("decision_log_header", "is sent to a URL only, and decision_log is none; remove it, or set decision_log to an https URL")
		}
		return
	}
	u, err := url.Parse(c.DecisionLog)
	switch {
	case err != nil || u.Host == "":
		v.fault("decision_log", "is not a URL; use an https URL, stdout or the path of a file")
	case u.User != nil:
		v.fault("decision_log", "contains a user, and the relay prints this setting; use decision_log_header: Authorization: Basic ...")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(addressOf(u))):
		v.fault("decision_log", "%q sends the decision log without encryption; use an https URL", u.Scheme+"://"+u.Host)
	}
}

// addressOf returns the host and port of a URL.
func addressOf(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":80"
	}
	return u.Host
}
