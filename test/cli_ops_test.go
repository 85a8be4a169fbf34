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
	require.Equal(t, "relay: unauthorized: that is not the admin token of the relay"+give, stderr)
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
