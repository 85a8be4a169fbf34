package test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandsFindTheRelayAndItsTokenByVariables(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_ADMIN_TOKEN=4dm1n")
	token := configFile(t, "4dm1n\n")
	env := []string{"RELAY_OPS_URL=" + relay.ops, "RELAY_ADMIN_TOKEN_FILE=" + token}
	stdout, stderr, code := runRelay(t, append(env, "RELAY_CHANNELS=alerts"), "pause", "--for", "1m")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "channel alerts is paused for 1m")
	require.NotContains(t, stderr, "unknown setting")

	_, stderr, code = runRelay(t, []string{"RELAY_OPS_URL=host:9090"}, "status")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `RELAY_OPS_URL: "host:9090" is not a URL; write it like http://127.0.0.1:8080`)

	const give = "; give it in RELAY_ADMIN_TOKEN, RELAY_ADMIN_TOKEN_FILE or --admin-token\n"
	_, stderr, code = runRelay(t, env[:1], "pause", "--channel", "alerts")
	require.Equal(t, 1, code)
	require.Equal(t, "relay: unauthorized: this needs the admin token of the relay"+give, stderr)
	_, stderr, code = runRelay(t, env[:1], "pause", "--channel", "alerts", "--admin-token", "wrong")
	require.Equal(t, 1, code)
	require.Equal(t, "relay: unauthorized: this needs the admin token of the relay, and the one that you gave is another"+give, stderr)
}

func TestWatchedStatusIsALineOfJSONEachTime(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts")
	watch := exec.CommandContext(t.Context(), program(), "status", "--ops-url", relay.ops, "--watch", "--every", "10ms", "--json")
	watch.Env = []string{}
	out, err := watch.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, watch.Start())
	lines := bufio.NewScanner(out)
	for range 3 {
		require.True(t, lines.Scan())
		var status struct{ Channels []struct{ Channel string } }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &status), lines.Text())
		require.Equal(t, "alerts", status.Channels[0].Channel)
	}
	require.NoError(t, watch.Process.Kill())
	require.Error(t, watch.Wait(), "it was killed")
}

// A command never guesses which of several channels is meant: what reads lists all, what acts asks.
func TestTheChannelIsNotGuessed(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts,db", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1",
		"RELAY_CHANNEL_DB_CATEGORY_LIMIT=1", "RELAY_CANARY_INTERVAL=1h", "RELAY_CANARY_WEBHOOK_URL=http://127.0.0.1:1/x",
		"RELAY_OPERATIONS_WEBHOOK_URL=http://127.0.0.1:1/x")
	cli := func(args ...string) (string, string, int) {
		return runRelay(t, []string{"RELAY_OPS_URL=" + relay.ops, "RELAY_ADMIN_TOKEN=4dm1n"}, args...)
	}
	stdout, stderr, code := cli("drops", "list")
	require.Zero(t, code, stderr)
	require.Equal(t, "no channel has dropped events\n", stdout)
	for _, channel := range []string{"alerts", "db"} {
		relay.post(t, channel, []event{{Title: "1 " + channel}, {Title: "2 " + channel}})
	}
	stdout, stderr, code = cli("drops", "list")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^CHANNEL +ID +WHEN .*\nalerts +\S+ .*2 alerts\ndb +\S+ .*2 db\n$`, stdout)
	stdout, stderr, code = cli("drops", "list", "--json")
	require.Zero(t, code, stderr)
	var all struct {
		Drops []struct{ Channel string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Equal(t, []struct{ Channel string }{{"alerts"}, {"db"}}, all.Drops)
	stdout, stderr, code = cli("drops", "list", "--channel", "db")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^ID +WHEN .*\n\S+ .*2 db\n$`, stdout)
	stdout, stderr, code = cli("limits", "show")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^CHANNEL +LEVEL +USED +LIMIT .*\nalerts +channel +1 +100 +30m +now\ndb +channel +1 +100 +30m +now\n$`, stdout)
	stdout, stderr, code = cli("limits", "show", "--json")
	require.Zero(t, code, stderr)
	var limits struct{ Channels []struct{ Channel string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &limits))
	require.Equal(t, []struct{ Channel string }{{"alerts"}, {"db"}}, limits.Channels)
	for _, args := range [][]string{
		{"pause", "--for", "1m"}, {"resume"}, {"limits", "reset"}, {"drops", "explain", "1-1"}, {"dead", "delete", "1-1"},
	} {
		_, stderr, code = cli(args...)
		require.Equal(t, 2, code, args)
		require.Equal(t, "relay: --channel is missing; the relay has these channels: alerts, db\n", stderr, args)
	}
}
