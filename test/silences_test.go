package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/notifier/fakeslack"
)

// Receipts and explanations name the rule.
func TestRulesRouteCategorizeAndMute(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	path := configFile(t, channelFile(`    rules:
      - {name: hush, match: [{field: severity, is: info}], mute: true}
      - {name: team, match: [{field: label.team, matches: "."}], set: {category_from: 'labels.team + " " + category'}, continue: true}
      - name: databases
        when: 'labels["team"] == "dba" and title contains "replica"'
        set: {channel: storage, severity: critical}
        copy_to: [alerts]
`)+"  - {name: storage, slack_channel: C0STORAGE, pace: 1ms}\n")
	relay := startRelay(t, withFile(redis.URL, slack.APIURL(), path)...)
	receipt := relay.post(t, "alerts", []map[string]any{
		{"title": "a replica lags", "category": "db", "labels": map[string]string{"team": "dba"}},
		{"title": "hello", "severity": "info"},
		{"title": "disk", "category": "db", "labels": map[string]string{"team": "dba"}},
	})
	require.Equal(t, 3, receipt.Admitted, "one of them is a copy")
	require.Equal(t, 1, receipt.Muted)
	require.Equal(t, "storage", receipt.Events[0].Channel)
	require.Equal(t, "rule hush", receipt.Events[1].By)
	require.Equal(t, "dba-db", receipt.Events[2].Category)
	relay.drained(t, "storage", 10*time.Second)
	relay.drained(t, "alerts", 10*time.Second)
	where := map[string]string{}
	for _, post := range slack.Posts() {
		where[post.Channel] += post.Text
	}
	require.Contains(t, where["C0STORAGE"], "a replica lags")
	require.Contains(t, where["C0ALERTS"], "disk")
	for channel, want := range map[string][]int64{"alerts": {3, 2, 1}, "storage": {1, 1, 0}} {
		ledger := relay.status(t, channel).Ledger
		require.Equal(t, want[0], ledger.Received, channel)
		require.Equal(t, want[1], ledger.Admitted, channel)
		require.Equal(t, want[2], ledger.Muted, channel)
		require.Zero(t, ledger.Imbalance())
	}

	body := t.TempDir() + "/event.json"
	require.NoError(t, os.WriteFile(body, []byte(`{"title":"a replica lags","category":"db","labels":{"team":"dba"}}`), 0o600))
	stdout, stderr, code := runRelay(t, []string{"RELAY_CONFIG=" + path}, "check", "--explain", body, "--channel", "alerts")
	require.Equal(t, 0, code, stderr)
	for _, line := range []string{
		"category        db -> dba-db\n", "severity        warning -> critical\n", "channel         alerts -> storage\n",
		"copies to       alerts\n",
		`rule hush       no   severity="info" does not match: it is "warning"`, "rule databases  yes  all its conditions match\n",
		"decided         rule databases: the limits of channel storage, category dba-db, apply\n",
	} {
		require.Contains(t, stdout, line)
	}
	stdout, _, code = runRelay(t, []string{"RELAY_CONFIG=" + path}, "check", "--explain", body, "--json", "--channel", "alerts")
	require.Equal(t, 0, code)
	var explained struct {
		Events []struct{ Verdict struct{ Rules []string } }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &explained))
	require.Equal(t, []string{"team", "databases"}, explained.Events[0].Verdict.Rules)
	for fault, args := range map[string][]string{
		`no channel "nowhere"`: {"--explain", body, "--channel", "nowhere"},
		"--explain: open /does/not/exist: no such file or directory": {"--explain", "/does/not/exist"},
		"is not a header": {"--explain", body, "--header", "x"},
		"is not a time":   {"--explain", body, "--at", "noon"},
		"unknown_source":  {"--explain", body, "--source", "xymon"},
	} {
		t.Run(fault, func(t *testing.T) {
			_, stderr, code := runRelay(t, []string{"RELAY_CONFIG=" + path}, append([]string{"check", "--channel", "alerts"}, args...)...)
			require.NotZero(t, code)
			require.Contains(t, stderr, fault)
		})
	}
}

func TestSilenceMutesAtAllReplicasUntilItEnds(t *testing.T) {
	t.Parallel()
	slack, redis := startSlack(t), redistest.Start(t)
	env := fast(redis.URL, slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=100")
	replicas := []*process{startRelay(t, env...), startRelay(t, env...)}
	cli := func(args ...string) (string, string, int) {
		return runRelay(t, []string{"RELAY_ADMIN_TOKEN=4dm1n", "USER=eve"},
			append([]string{"silence", args[0], "--ops-url", replicas[0].ops}, args[1:]...)...)
	}
	stdout, _, code := cli("list")
	require.Equal(t, "there are no silences\n", stdout)
	require.Zero(t, code)
	stdout, stderr, code := cli("add", "category=disk", "host=~db-.*", "--for", "2h", "--reason", "migration, OPS-12", "--author", "eve")
	require.Equal(t, 0, code, stderr)
	id := strings.TrimSuffix(strings.Fields(stdout)[1], ":")
	require.Contains(t, stdout, `all channels: category="disk" and label.host=~"^(?:db-.*)$"`)
	quiet := map[string]any{"title": "Disk full", "category": "disk", "labels": map[string]string{"host": "db-1"}}
	require.Equal(t, 1, replicas[0].post(t, "alerts", quiet).Muted, "at once where it was made")
	require.Eventually(t, func() bool { return replicas[1].post(t, "alerts", quiet).Muted == 1 }, 5*time.Second, 50*time.Millisecond)
	receipt := replicas[1].post(t, "alerts", quiet)
	require.Equal(t, "silence "+id, receipt.Events[0].By)
	quiet["labels"] = map[string]string{"host": "web-1"}
	require.Equal(t, 1, replicas[1].post(t, "alerts", quiet).Admitted)
	stdout, _, code = cli("list")
	require.Equal(t, 0, code)
	require.Regexp(t, id+` +active +\S+ \S+ +eve +all channels: .* +migration, OPS-12`, stdout)
	stdout, stderr, code = cli("expire", id)
	require.Equal(t, "ended "+id+"\n", stdout, stderr)
	require.Zero(t, code, stderr)
	require.Equal(t, 1, replicas[0].post(t, "alerts", event{Title: "Disk full", Category: "disk"}).Admitted)
	for fault, args := range map[string][]string{
		"needs a matcher":                       {"add", "--reason", "x"},
		"--reason is missing":                   {"add", "category=disk"},
		"is not a valid matcher":                {"add", "category", "--reason", "x"},
		"keep one":                              {"add", "category=disk", "--reason", "x", "--for", "1h", "--until", "2030-01-01T00:00:00Z"},
		"is not a time":                         {"add", "category=disk", "--reason", "x", "--until", "tomorrow"},
		"needs an id":                           {"expire"},
		"not_found: the silence does not exist": {"expire", "other"},
		"it must end after":                     {"add", "category=disk", "--reason", "x", "--author", "eve", "--until", "2020-01-01T00:00:00Z"},
	} {
		t.Run(fault, func(t *testing.T) {
			_, stderr, code := cli(args...)
			require.NotZero(t, code)
			require.Contains(t, stderr, fault)
		})
	}
	ledger := replicas[0].drained(t, "alerts", 10*time.Second).Ledger
	require.Zero(t, ledger.Imbalance())
	require.Equal(t, ledger.Received, ledger.Admitted+ledger.Muted)
}

// Its messages are marked.
func TestTestLaneDeliversAndSpendsNoSlot(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"redis": redistest.Start(t).URL, "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slack := startSlack(t)
			relay := startRelay(t, fast(redis, slack, "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=2")...)
			for i := range 4 {
				status, answer := request(t, http.MethodPost, relay.public+"/hooks/alerts?test=1", "", []byte(fmt.Sprintf(`{"title":"try %d"}`, i)))
				require.Equal(t, http.StatusAccepted, status)
				require.Equal(t, i < 2, strings.Contains(string(answer), `"outcome":"admitted"`), "%s", answer)
			}
			relay.drained(t, "alerts~test", 10*time.Second)
			require.Len(t, slack.Posts(), 2)
			require.Contains(t, slack.Posts()[0].Form.Encode(), "Test")
			stdout, stderr, code := runRelay(t, nil, "send", "--url", relay.public, "--channel", "alerts", "--title", "x", "--category", "y",
				"--test")
			require.Equal(t, 0, code, stderr)
			require.Regexp(t, `^admitted  category y  id \S+  channel alerts~test\n$`, stdout)
			status := relay.status(t, "alerts")
			require.Zero(t, status.Levels[0].Used)
			require.Zero(t, status.Ledger.Received)
			require.Equal(t, 2, relay.post(t, "alerts", []event{{Title: "1"}, {Title: "2"}}).Admitted)
			_, answer := request(t, http.MethodGet, relay.ops+"/api/v1/channels", "", nil)
			require.NotContains(t, string(answer), "~test", "the list of channels has no lanes")
		})
	}
}

// It takes the whole path, once over all replicas.
func TestMissingCanaryIsReportedOnce(t *testing.T) {
	t.Parallel()
	slack, operations, redis := startSlack(t), startSlack(t), redistest.Start(t)
	var broken atomic.Bool
	slack.Break(func(_, channel string) (fakeslack.Reply, bool) {
		return fakeslack.APIError("channel_not_found"), broken.Load() && channel == "C0CANARY"
	})
	env := fast(redis.URL, slack, "RELAY_CANARY_INTERVAL=1s", "RELAY_CANARY_WITHIN=2s", "RELAY_CANARY_SLACK_CHANNEL=C0CANARY",
		"RELAY_OPERATIONS_WEBHOOK_URL="+operations.WebhookURL("ops", "x"))
	replicas := []*process{startRelay(t, env...), startRelay(t, env...)}
	notified := func(text string) int {
		n := 0
		for _, post := range operations.Posts() {
			if strings.Contains(string(post.Body), text) {
				n++
			}
		}
		return n
	}
	canaries := func() int {
		n := 0
		for _, post := range slack.Posts() {
			if post.Channel == "C0CANARY" && strings.Contains(post.Text, "Canary") {
				n++
			}
		}
		return n
	}
	begin := time.Now()
	require.Eventually(t, func() bool { return canaries() >= 3 }, 15*time.Second, 20*time.Millisecond)
	require.LessOrEqual(t, canaries(), int(time.Since(begin).Seconds())+3, "one an interval over all replicas")
	require.Eventually(t, func() bool { return replicas[1].metric(t, "relay_canary_last_arrival_timestamp_seconds") > "1" },
		10*time.Second, 20*time.Millisecond)
	require.Equal(t, "0", replicas[0].metric(t, "relay_canary_missing"))
	require.Zero(t, notified("canary"))

	broken.Store(true)
	for _, replica := range replicas {
		require.Eventually(t, func() bool { return replica.metric(t, "relay_canary_missing") == "1" }, 15*time.Second, 20*time.Millisecond)
	}
	require.Eventually(t, func() bool { return notified("did not arrive: messages may not reach Slack") >= 1 }, 10*time.Second,
		20*time.Millisecond)
	broken.Store(false)
	for _, replica := range replicas {
		require.Eventually(t, func() bool { return replica.metric(t, "relay_canary_missing") == "0" }, 15*time.Second, 20*time.Millisecond)
	}
	require.Eventually(t, func() bool { return notified("The canary arrives again") >= 1 }, 10*time.Second, 20*time.Millisecond)
	require.Zero(t, replicas[0].status(t, "alerts").Ledger.Received, "it is in nobody's ledger")

	redis.Kill() // nothing is queued any more; the operators are notified all the same
	before := notified("did not arrive")
	require.Eventually(t, func() bool { return notified("did not arrive") > before }, 20*time.Second, 20*time.Millisecond)
}
