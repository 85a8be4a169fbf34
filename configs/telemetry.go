package configs

import (
	"net/url"
	"strings"
)

// maxLogBurst bounds the lines a second of one message.
const maxLogBurst = 1_000_000

func (c *Config) validateTelemetry(v *validator) {
	v.within("log_burst", c.LogBurst, 0, maxLogBurst)
	switch u, err := url.Parse(c.OtlpEndpoint); {
	case c.OtlpEndpoint == "":
	case err != nil || !isWebURL(c.OtlpEndpoint):
		v.fault("otlp_endpoint", "must be an http or https URL, like http://otel-collector:4318")
	case u.User != nil:
		v.fault("otlp_endpoint", "has a user in it, and is no secret; write otlp_headers=Authorization=Basic%%20...")
	}
	if _, ok := c.TraceHeaders(); !ok {
		v.fault("otlp_headers", "is not of the form name=value,name=value")
	}
	if !(c.TraceRatio >= 0 && c.TraceRatio <= 1) { // nor NaN
		v.fault("trace_ratio", "is %g; it must be between 0 and 1", c.TraceRatio)
	}
}

// TraceURL is where traces are posted: the endpoint as OpenTelemetry means it, without the path of the signal.
func (c *Config) TraceURL() string {
	if strings.HasSuffix(c.OtlpEndpoint, tracesPath) {
		return c.OtlpEndpoint
	}
	return strings.TrimSuffix(c.OtlpEndpoint, "/") + tracesPath
}

const tracesPath = "/v1/traces"

// TraceHeaders are the headers that traces are posted with, as OTEL_EXPORTER_OTLP_HEADERS writes them: values may be
// escaped with percent signs.
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
