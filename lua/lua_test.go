package lua_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeysHaveTheGroupAsTheirHashTag(t *testing.T) {
	t.Parallel()
	k := lua.KeysOf("team", "alerts")
	require.Equal(t, []string{
		"relay:{team}:limit:sliding-log:channel", "relay:{team}:limit:sliding-log:category:alerts:errors",
		"relay:{team}:seen:alerts", "relay:{team}:ledger:alerts", "relay:{team}:outbox:alerts", "relay:{team}:entries:alerts",
		"relay:{team}:dead:alerts", "relay:{team}:lease:alerts", "relay:{team}:pause:alerts", "relay:{team}:pace:alerts",
		"relay:{team}:series:alerts:472222",
	}, []string{
		k.ChannelLimit("sliding-log"), k.ValueLimit("sliding-log", "category", "errors"),
		k.Seen(), k.Ledger(), k.Outbox(), k.Entries(), k.Dead(), k.Lease(), k.Pause(), k.Pace(), k.Series(time.Unix(1_700_000_000, 0)),
	})
}

func TestNamesThatCouldLeaveTheHashTagAreEscaped(t *testing.T) {
	t.Parallel()
	k := lua.KeysOf("a}b{", "c:d\n%")
	require.Equal(t, "relay:{a%7Db%7B}:seen:c%3Ad%0A%25", k.Seen())
	require.NotEqual(t, lua.KeysOf("g", "a:b").ValueLimit("s", "l", "c"), lua.KeysOf("g", "a").ValueLimit("s", "l", "b:c"))
	tag := regexp.MustCompile(`^relay:\{[^{}]+\}:[^{}]+$`)
	for _, key := range []string{k.ChannelLimit("s"), k.ValueLimit("s", "x{y}", "{z}"), k.Ledger()} {
		require.Regexp(t, tag, key)
	}
}

func TestScriptsDocumentTheirContractAndNeedOnlyRedis62(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?:call\(|backlog\()'([A-Z]+)'`)
	probe, err := os.ReadFile("probe.lua")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".lua") {
			continue
		}
		source, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		text := string(source)
		require.True(t, strings.HasPrefix(text, "-- "+file.Name()+": "), file.Name())
		for _, part := range []string{"-- KEYS", "-- ARGV", "-- Reply", "-- Example:", "redis-cli --eval lua/" + file.Name()} {
			require.Contains(t, text, part, file.Name())
		}
		require.NoError(t, client.ScriptLoad(t.Context(), text).Err(), file.Name())
		for _, found := range command.FindAllStringSubmatch(text, -1) {
			require.Contains(t, string(probe), "call('"+found[1]+"'", "the probe tries every command")
			require.LessOrEqual(t, since(t, client.Do(t.Context(), "COMMAND", "DOCS", found[1]).Val()), 6.2, "%s in %s", found[1], file.Name())
		}
		for _, option := range []string{"'NX'", "'XX'", "'GT'", "'LT'", "'KEEPTTL'"} { // of EXPIRE since 7.0
			require.NotRegexp(t, `P?EXPIRE'[^)]*`+option, text, file.Name())
		}
	}
}

// since returns the version of Redis that introduced a command, from COMMAND DOCS.
func since(t *testing.T, reply any) float64 {
	t.Helper()
	commands, ok := reply.(map[any]any)
	require.True(t, ok, "%T", reply)
	for _, docs := range commands {
		fields, ok := docs.(map[any]any)
		require.True(t, ok, "%T", docs)
		parts := strings.Split(fmt.Sprint(fields["since"]), ".")
		version, err := strconv.ParseFloat(parts[0]+"."+parts[1], 64)
		require.NoError(t, err)
		return version
	}
	require.Fail(t, "no such command")
	return 0
}
