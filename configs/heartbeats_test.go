package configs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

func TestHeartbeatsAreRead(t *testing.T) {
	cfg := good(t, `
heartbeats:
  - {name: Nightly.backup, channel: a, every: 24h, grace: 1h, severity: critical, category: backups}
  - {name: watchdog, channel: a, every: 10m, match: [{field: label.alertname, is: Watchdog}]}
channels: [{name: a}]
`)
	all := cfg.SenderHeartbeats()
	require.Len(t, all, 2)
	require.Equal(t, "Nightly.backup", all[0].Name)
	require.Equal(t, 24*time.Hour, all[0].Every)
	require.Equal(t, time.Hour, all[0].Grace)
	require.Equal(t, events.Critical, all[0].Severity)
	require.Equal(t, "backups", all[0].Category)
	require.Equal(t, time.Minute, all[1].Grace)
	require.Equal(t, events.Error, all[1].Severity)
	require.Equal(t, "heartbeat", all[1].Category)
	require.True(t, all[1].Match[0].Matches(&events.Event{Labels: map[string]string{"alertname": "Watchdog"}}, nil))
}

func TestInvalidHeartbeatsAreRefused(t *testing.T) {
	bad(t, `
heartbeats:
  - {name: a/b, channel: a, every: 5m}
  - {name: x, channel: nowhere, every: 5m, grace: 1ms, severity: loud, category: A B}
  - {name: x, channel: a, match: [{field: nothing, is: y}]}
  - {name: y, channel: a, every: 5}
  - {name: z, channel: "team-{{team}}", every: 5m}
channels: [{name: a}, {name: "team-{{team}}", fallback: a}]
`, nil,
		`relay.yaml:3: heartbeats[0].name: "a/b" is not a valid name; use 1 to 63 of letters, digits, dot, underscore and dash`,
		`relay.yaml:4: heartbeats[1].channel: "nowhere" is not a channel; use the name of one`,
		`relay.yaml:4: heartbeats[1].grace: 1ms is out of range; use 1s to 744h, or 0s`,
		`relay.yaml:4: heartbeats[1].severity: "loud" is not a valid value; use critical, error, warning or info`,
		`relay.yaml:4: heartbeats[1].category: "A B" is not a category; `,
		`relay.yaml:5: heartbeats[2].name: "x" is the name of another heartbeat; use each name once`,
		`relay.yaml:5: heartbeats[2].every: 0s is out of range; use 1s to 744h`,
		`relay.yaml:5: heartbeats[2].match[0]: field "nothing" is unknown; use one of `,
		`relay.yaml:6: heartbeats[3].every: 5 is not a duration; use a unit, for example 5m`,
		`relay.yaml:7: heartbeats[4].channel: "team-{{team}}" is a template; use a channel without a placeholder`)
}
