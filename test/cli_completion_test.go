package test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shell completes names, categories and ids that the relay has now. A relay that cannot be asked costs nothing and prints nothing.
func TestShellsCompleteWhatTheRelayHas(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_CHANNELS=alerts,db", "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_DB_CATEGORY_LIMIT=1")
	env := []string{"RELAY_OPS_URL=" + relay.ops, "RELAY_ADMIN_TOKEN=4dm1n"}
	relay.post(t, "db", []event{{Category: "disk", Title: "1"}, {Category: "disk", Title: "2\ttab"}})
	complete := func(env []string, args ...string) []string {
		t.Helper()
		stdout, stderr, code := runRelay(t, env, append([]string{"__complete"}, args...)...)
		require.Zero(t, code, stderr)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		require.Regexp(t, `^:[46]$`, lines[len(lines)-1], "no file is completed")
		return lines[:len(lines)-1]
	}
	require.Equal(t, []string{"alerts", "db"}, complete(env, "pause", "--channel", ""))
	require.Equal(t, []string{"alerts"}, complete(env, "drops", "list", "--channel", "a"))
	require.Equal(t, []string{"db"}, complete(env, "send", "--channel", "d"))
	require.Equal(t, []string{"disk"}, complete(env, "send", "--channel", "db", "--category", ""))
	require.Equal(t, []string{"category", "channel"}, complete(env, "limits", "reset", "--channel", "db", "--level", ""))
	require.Equal(t, []string{"disk"}, complete(env, "limits", "reset", "--channel", "db", "--value", "d"))
	ids := complete(env, "drops", "replay", "--channel", "db", "")
	require.Len(t, ids, 1)
	require.Regexp(t, `^\d+-\d+\twarning 2 tab$`, ids[0], "a title cannot add a candidate")
	require.Empty(t, complete(env, "drops", "replay", ""), "whose ids is not known")

	added, stderr, code := runRelay(t, env, "silence", "add", "category=disk", "--reason", "r")
	require.Zero(t, code, stderr)
	id := regexp.MustCompile(`silence (\S+):`).FindStringSubmatch(added)[1]
	require.Equal(t, []string{id + "\tall channels: category=\"disk\""}, complete(env, "silence", "expire", ""))

	require.Equal(t, []string{"critical"}, complete(env, "send", "--severity", "c"))
	require.Equal(t, []string{"severity="}, complete(env, "silence", "add", "sev"))
	require.Equal(t, []string{"alerts", "db"}, complete([]string{"RELAY_CHANNELS=alerts,db"}, "simulate", "--channel", ""))
	for _, line := range []string{
		"pause --channel", "send --channel", "drops explain", "dead delete", "silence expire", "limits reset --level",
	} {
		require.Empty(t, complete([]string{"RELAY_OPS_URL=http://127.0.0.1:1"}, append(strings.Fields(line), "")...), line)
	}
	require.Empty(t, complete([]string{"RELAY_OPS_URL=nonsense", "RELAY_DRAIN=5"}, "pause", "--channel", ""), "a faulty configuration")
}
