package test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// doorCommand is a command of docs/doors.md, with the status of its reply and how its body begins.
var doorCommand = regexp.MustCompile(`(?m)^(curl .*)\n# (\d+) ?(.*)$`)

// Every sender of another product gets the reply in docs/doors.md, and each of its messages is taken in.
func TestCommandsOfDoorsWork(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts,other", "RELAY_CHANNEL_ALERTS_INGRESS_TOKEN=the-token-of-alerts",
		"RELAY_CHANNEL_OTHER_INGRESS_TOKEN=the-token-of-other")
	commands := doorCommand.FindAllStringSubmatch(doc(t, "doors"), -1)
	require.Len(t, commands, 11)
	here := strings.NewReplacer("http://relay:8080", relay.public, "TOKEN", "the-token-of-alerts")
	for _, c := range commands {
		line := here.Replace(c[1]) + ` -sS -w '\n%{http_code}'`
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		body, status := string(out[:len(out)-4]), string(out[len(out)-3:])
		require.Equal(t, c[2], status, "%s\n%s", line, out)
		require.True(t, strings.HasPrefix(body, c[3]), "%s\n%s", line, out)
	}
	ledger := relay.status(t, "alerts").Ledger
	require.Equal(t, int64(len(commands)), ledger.Received)
	require.Zero(t, relay.status(t, "other").Ledger.Received)
}
