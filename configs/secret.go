package configs

import (
	"log/slog"
)

// Secret is a value that is never printed: not by fmt, not in logs, not in YAML or JSON. A field of this type needs a second
// one beside it, named like it with File at its end, for the file that the secret may be read from.
type Secret string

const masked = "********"

// String masks the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString masks the value.
func (s Secret) GoString() string { return s.String() }

// LogValue masks the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalYAML masks the value.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// MarshalText masks the value, also in JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
