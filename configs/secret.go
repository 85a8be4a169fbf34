package configs

import (
	"log/slog"
)

// Secret is a value that is never printed: not by fmt, not in logs, not in YAML.
type Secret string

const masked = "********"

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString hides the value.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalYAML hides the value.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// MarshalText hides the value, in JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretSetting is a secret with its file variant.
type secretSetting struct {
	name  string // of the setting within its struct
	value *Secret
	file  *string
}

func (c *Config) secrets() []secretSetting {
	return []secretSetting{
		{"redis_url", &c.RedisURL, &c.RedisURLFile},
		{"redis_password", &c.RedisPassword, &c.RedisPasswordFile},
		{"admin_token", &c.AdminToken, &c.AdminTokenFile},
		{"slack_token", &c.SlackToken, &c.SlackTokenFile},
		{"operations_webhook_url", &c.OperationsWebhookURL, &c.OperationsWebhookURLFile},
		{"canary_webhook_url", &c.CanaryWebhookURL, &c.CanaryWebhookURLFile},
		{"otlp_headers", &c.OtlpHeaders, &c.OtlpHeadersFile},
	}
}

func (c *Channel) secrets() []secretSetting {
	return []secretSetting{
		{"slack_webhook_url", &c.SlackWebhookURL, &c.SlackWebhookURLFile},
		{"ingress_token", &c.IngressToken, &c.IngressTokenFile},
		{"fallback_webhook_url", &c.FallbackWebhookURL, &c.FallbackWebhookURLFile},
	}
}

func (c *Credential) secrets() []secretSetting {
	return []secretSetting{{"secret", &c.Secret, &c.SecretFile}}
}
