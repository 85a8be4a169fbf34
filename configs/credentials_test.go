package configs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A secret that can be guessed is named by its field, and never said.
func TestWeakSecretsAreWarnedOf(t *testing.T) {
	secret := write(t, "short", "from-a-file")
	loaded, err := load(t, `
admin_token: s3cret-admin
channels:
  - name: a
    ingress_token: s3cret-15-chars
    auth:
      - {name: pw, kind: basic, username: u, secret: s3cret}
      - {name: file, kind: bearer, secret_file: `+secret+`}
      - {name: key, kind: github, secret: s3cret-key}
      - {name: good, kind: bearer, secret: s3cret-16-chars.}
      - {name: aws, kind: sns, topics: ["arn:aws:sns:eu-west-1:1:t"]}
  - {name: b, ingress_token: s3cret-16-chars., slack_channel: C}
`)
	require.NoError(t, err)
	text := strings.Join(loaded.Warnings, "\n")
	for _, where := range []string{"admin_token", "channels[0] (a).ingress_token", "channels[0] (a).auth[0] (pw).secret", "channels[0] (a).auth[1] (file).secret", "channels[0] (a).auth[2] (key).secret"} {
		require.Contains(t, text, where+" has fewer than 16 characters and can be guessed")
	}
	require.Equal(t, 5, strings.Count(text, "can be guessed"), text)
	require.NotContains(t, text, "s3cret")
	require.NotContains(t, text, "from-a-file")
}

// What a signature says less than it seems to is warned of.
func TestSignaturesAreWarnedOf(t *testing.T) {
	loaded, err := load(t, `
dedupe: 4m
channels:
  - name: a
    auth:
      - {name: any, kind: hmac, header: X-Sig, secret: s3cret-of-16-or-more}
      - {name: std, kind: standard, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}
      - {name: bound, kind: hmac, header: X-Sig, source: generic, secret: s3cret-of-its-own-bound}
      - {name: hub, kind: github, secret: s3cret-of-the-hub}
      - {name: timed, kind: grafana, timestamp_header: X-Time, secret: s3cret-of-grafana-1, tolerance: 2m}
      - {name: aws, kind: sns, topics: ["arn:aws:sns:eu-west-1:1:t"]}
  - name: b
    auth:
      - {name: hub, kind: github, source: github, secret: s3cret-of-the-hub}
      - {name: token, kind: bearer, secret: s3cret-of-16-or-more}
`)
	require.NoError(t, err)
	text := strings.Join(loaded.Warnings, "\n")
	for _, says := range []string{
		"channels[0] (a).auth[0] (any) signs bodies, but has no source", "channels[0] (a).auth[1] (std) signs bodies, but has no source",
		"channels[0] (a).auth[1] (std) accepts signatures that are up to 5m0s old, but dedupe is 4m0s", "channels[0] (a).auth[5] (aws) accepts signatures that are up to 1h0m0s old",
		"channels[1] (b).auth[0] (hub) has the same secret as channels[0] (a).auth[3] (hub)",
	} {
		require.Contains(t, text, says)
	}
	require.Equal(t, 2, strings.Count(text, "has no source"), text)
	require.Equal(t, 2, strings.Count(text, "but dedupe is"), text)
	require.Equal(t, 1, strings.Count(text, "has the same secret as"), text)
	require.NotContains(t, text, "s3cret")
}

func TestCredentialsThatProtectNothing(t *testing.T) {
	bad(t, `
trusted_proxies: ["::ffff:10.0.0.0/80"]
channels:
  - name: a
    auth:
      - {name: empty, kind: standard, secret: whsec_}
      - {name: short, kind: standard, secret: whsec_c2hvcnQ=}
      - {name: blank, kind: hmac, header: X, secret: " "}
      - {name: aws, kind: sns, source: generic, topics: ["arn:aws:sns:eu-west-1:1:t"]}
      - {name: topic, kind: sns, topics: [alarms]}
`, nil,
		`trusted_proxies has "::ffff:10.0.0.0/80"`,
		"channels[0] (a).auth[0] (empty): secret holds a key of 0 bytes", "channels[0] (a).auth[1] (short): secret holds a key of 5 bytes; Standard Webhooks require 24 or more",
		"channels[0] (a).auth[2] (blank): secret, or secret_file, is needed", `channels[0] (a).auth[3] (aws): source is "generic"; it must be sns, or empty, for kind sns`,
		`channels[0] (a).auth[4] (topic): topics has "alarms"; write the ARN of a topic`)
	cfg := good(t, "channels: [{name: a, allow_from: [\"::ffff:10.0.0.0/104\"]}]\n")
	require.Equal(t, "10.0.0.0/8", cfg.ServerChannels()[0].AllowFrom[0].String())
}
