package test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
)

// requireRest requires a text to match a pattern whose group is what is left of a time that began after since, in whole
// seconds.
func requireRest(t *testing.T, pattern, text string, whole time.Duration, since time.Time) {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, match, "%s does not match %s", text, pattern)
	rest, err := time.ParseDuration(match[1])
	require.NoError(t, err)
	require.LessOrEqual(t, rest, whole)
	require.GreaterOrEqual(t, rest, whole-time.Since(since)-time.Second)
}

// The audit log records each change.
func TestOperatorReadsStatusPausesAndResetsLimits(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			relay := startRelay(t, fast(redis, slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")...)
			cli := func(args ...string) (string, string, int) {
				return runRelay(t, []string{"RELAY_CHANNELS=alerts", "RELAY_ADMIN_TOKEN=4dm1n"}, append(args, "--ops-url", relay.ops)...)
			}
			works := func(args ...string) string {
				stdout, stderr, code := cli(args...)
				require.Equal(t, 0, code, stderr)
				return stdout
			}
			posted := time.Now()
			relay.post(t, "alerts", []event{{Title: "1", Category: "disk"}, {Title: "2", Category: "disk"}, {Title: "3", Category: "disk"}})
			relay.drained(t, "alerts", 10*time.Second)
			require.Regexp(t, `^CHANNEL +USED +RECEIVED +SENT +DROPPED +WAITING +DEAD +STATE\nalerts +2/100 +3 +2 +1 +0 +0 +sends\nok`,
				works("status"))
			requireRest(t, `category disk +2 +2 +30m +in (\S+)\n`, works("status", "--channel", "alerts"), 30*time.Minute, posted)
			var status struct{ Channels []struct{ Channel string } }
			require.NoError(t, json.Unmarshal([]byte(works("status", "--json")), &status))
			require.Equal(t, "alerts", status.Channels[0].Channel)
			require.NotContains(t, works("status"), "\x1b", "colours are for terminals")

			paused := time.Now()
			require.Equal(t, "channel alerts is paused for 30m; resume it with: relay resume --channel alerts --ops-url "+relay.ops+"\n",
				works("pause", "--for", "30m", "--reason", "Slack moves"))
			require.Equal(t, 1, relay.post(t, "alerts", event{Title: "4", Category: "other"}).Admitted, "it waits")
			requireRest(t, `alerts +3/100 +4 +2 +1 +1 +0 +paused for (\S+): by hand: Slack moves\n`+
				`degraded  channel alerts is paused: by hand: Slack moves\n`, works("status"), 30*time.Minute, paused)
			require.Equal(t, "channel alerts resumed\n", works("resume"))
			relay.drained(t, "alerts", 10*time.Second)
			require.Len(t, slack.Posts(), 3)

			require.Regexp(t, `channel +3 +100 +30m +now`, works("limits", "show"))
			require.Equal(t, "level category Disk of channel alerts is empty\n", works("limits", "reset", "--level", "category", "--value", "Disk"))
			require.Regexp(t, `category disk +0 +2 +30m +now`, works("limits", "show"))
			require.Eventually(t, func() bool {
				return relay.post(t, "alerts", event{Title: "5", Category: "disk"}).Admitted == 1
			}, 5*time.Second, 50*time.Millisecond, "a replica believes that a level is closed for a second at most")
			require.Equal(t, "level channel of channel alerts is empty\n", works("limits", "reset"))
			for fault, args := range map[string][]string{
				"bad_field: level is \"nope\"":             {"limits", "reset", "--level", "nope", "--value", "x"},
				"bad_field: for: \"x\" is not":             {"pause", "--for", "x"},
				"unknown_channel":                          {"pause", "--channel", "nowhere"},
				"--every is 0s; it must be above 0":        {"status", "--every", "0s"},
				"unauthorized: this needs the admin token": {"resume", "--admin-token", "wrong"},
			} {
				t.Run(args[0]+" "+args[1], func(t *testing.T) {
					_, stderr, code := cli(args...)
					require.NotZero(t, code)
					require.Contains(t, stderr, fault)
				})
			}
			for _, what := range []string{`"what":"channel paused","who":"`, `"what":"channel resumed"`, `"what":"limit reset"`} {
				require.Contains(t, relay.output.String(), what)
			}
		})
	}
}

func TestStatusWithoutARelayNamesTheNextStep(t *testing.T) {
	t.Parallel()
	_, stderr, code := runRelay(t, nil, "status", "--ops-url", "http://127.0.0.1:1")
	require.NotZero(t, code)
	require.Contains(t, stderr, "is one running there? start one with: relay serve")
}
