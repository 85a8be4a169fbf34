package configs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIncompleteChannelsAreReported(t *testing.T) {
	loaded, err := load(t, "channels: [{name: a, slack_channel: C}, {name: b, global_limit: 5, category_limit: 6}]\n")
	require.NoError(t, err)
	text := strings.Join(loaded.Warnings, "\n")
	require.Contains(t, text, "redis_url: is not set")
	require.Contains(t, text, "relay.yaml:1: channels[0].slack_channel: slack_token is not set; messages of channel a are only printed")
	require.Contains(t, text, "channels[1].slack_channel: channel b has no Slack destination")
	require.Contains(t, text, "channels[1].category_limit: 6 is above global_limit, 5")
}

func TestReservesThatGuaranteeLittleAreReported(t *testing.T) {
	loaded, err := load(t, `
redis_url: redis://x
channels:
  - {name: a, slack_webhook_url: "http://x/y", first_notice: {mode: fixed, slots: 20, per_category: 2},
     headroom: [{severity: critical, share: 0.9}]}
`)
	require.NoError(t, err)
	require.Len(t, loaded.Warnings, 2)
	require.Contains(t, loaded.Warnings[0], "relay.yaml:4: channels[0].first_notice: 20 slots guarantee the first notices of 10 categories")
	require.Contains(t, loaded.Warnings[1], "relay.yaml:5: channels[0].headroom[0].severity: keeps critical events out")
}

func TestTemplatesThatLetASenderChooseAnyChannelAreReported(t *testing.T) {
	loaded, err := load(t, `
redis_url: redis://x
slack_token: xoxb-1-2-3
channels:
  - {name: a, slack_channel: C0123ABCD}
  - {name: "{{team}}", slack_channel: "#{{team}}", fallback: a}
  - {name: "x-{{team}}", slack_channel: "#{{team}}", values: "web|db", fallback: a}
  - {name: "y-{{team}}", slack_channel: "#y-{{team}}", fallback: a}
`)
	require.NoError(t, err)
	text := strings.Join(loaded.Warnings, "\n")
	require.Contains(t, text, `relay.yaml:6: channels[1].name: "{{team}}" lets a sender choose any configured channel by a label; `+
		`add a prefix, for example team-{{team}}, or allow few values`)
	require.Contains(t, text, `channels[1].slack_channel: "#{{team}}" lets a sender choose any Slack channel by a label; `+
		`add a prefix, for example #team-{{team}}, or allow few values`)
	require.Equal(t, 2, strings.Count(text, "lets a sender"), text)
}

// A warning names the field of a weak secret, never its value.
func TestWeakSecretsAreReported(t *testing.T) {
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
	for _, where := range []string{
		"admin_token", "channels[0].ingress_token", "channels[0].auth[0].secret", "channels[0].auth[1].secret", "channels[0].auth[2].secret",
	} {
		require.Contains(t, text, where+": has fewer than 16 characters and can be guessed")
	}
	require.Equal(t, 5, strings.Count(text, "can be guessed"), text)
	require.NotContains(t, text, "s3cret")
	require.NotContains(t, text, "from-a-file")
}

func TestWeakSignaturesAreReported(t *testing.T) {
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
	for _, warning := range []string{
		"channels[0].auth[0].source: is empty; the credential any signs bodies",
		"channels[0].auth[1].source: is empty; the credential std signs bodies",
		"channels[0].auth[1].tolerance: the credential std accepts signatures that are up to 5m old, but dedupe is 4m",
		"channels[0].auth[5].tolerance: the credential aws accepts signatures that are up to 1h old",
		"channels[1].auth[0].secret: is the same as that of channels[0].auth[3]",
	} {
		require.Contains(t, text, warning)
	}
	require.Equal(t, 2, strings.Count(text, "source: is empty"), text)
	require.Equal(t, 2, strings.Count(text, "but dedupe is"), text)
	require.Equal(t, 1, strings.Count(text, "is the same as that of"), text)
	require.NotContains(t, text, "s3cret")
}

func TestATokenThatIsNoneIsWarnedOf(t *testing.T) {
	for token, warning := range map[string]string{
		"xoxb-1-2-abc": "",
		"xoxb-…":       "RELAY_SLACK_TOKEN: is a placeholder, not a token; copy the Bot User OAuth Token",
		"xapp-1-A":     "RELAY_SLACK_TOKEN: is an app-level token, which cannot post messages; copy the Bot User OAuth Token",
	} {
		t.Run(token, func(t *testing.T) {
			loaded, err := load(t, "", "RELAY_SLACK_TOKEN="+token, "RELAY_CHANNEL_DEFAULT_SLACK_CHANNEL=C0123")
			require.NoError(t, err)
			all := strings.Join(loaded.Warnings, "\n")
			require.Contains(t, all, warning)
			require.Equal(t, warning != "", strings.Contains(all, "RELAY_SLACK_TOKEN:"), all)
		})
	}
}
