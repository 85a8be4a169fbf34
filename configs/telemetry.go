package configs

import (
	"net/url"
	"strings"
)

func (c *Config) validateTelemetry(v validator) {
	if hasUser(c.OtlpEndpoint) {
		v.fault("otlp_endpoint", "contains a user, and the relay prints this setting; use otlp_headers: Authorization=Basic%%20...")
	}
	if _, ok := c.TraceHeaders(); !ok {
		v.fault("otlp_headers", "the value is not a list of headers; use name=value,name=value")
	}
}

// TraceURL returns the URL that traces are posted to: the endpoint, with the path for traces if it does not end with it.
func (c *Config) TraceURL() string {
	if strings.HasSuffix(c.OtlpEndpoint, tracesPath) {
		return c.OtlpEndpoint
	}
	return strings.TrimSuffix(c.OtlpEndpoint, "/") + tracesPath
}

const tracesPath = "/v1/traces"

// TraceHeaders returns the headers that traces are posted with. They are written as in OTEL_EXPORTER_OTLP_HEADERS: values
// may be percent-encoded. ok is false if they are not.
func (c *Config) TraceHeaders() (headers map[string]string, ok bool) {
	headers = map[string]string{}
	for pair := range strings.SplitSeq(string(c.OtlpHeaders), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, text, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(text))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, false
		}
		headers[name] = value
	}
	return headers, true
}
