package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	start := time.Now()
	stdout, stderr, code := runRelay(t, nil, "demo")
	require.Equal(t, 0, code, stderr)
	require.Less(t, time.Since(start), 20*time.Second)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Equal(t, []string{"category", "received", "sent", "dropped"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"total", "200", "100", "100"}, strings.Fields(lines[21]))
	require.Len(t, lines, 25, "20 categories, the totals, and two lines that explain them")
	require.NotContains(t, stderr, "%", "a pipe gets no progress bar")
}

func TestDemoReadsNoEnvironment(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runRelay(t, []string{"RELAY_REDIS_URL=redis://127.0.0.1:1", "RELAY_CHANNELS=x", "RELAY_LISTEN=nonsense"}, "demo")
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `total +200 +100 +100`, stdout)
}

func TestWrongUsageExitsWith2AndNamesTheFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env   []string
		args  []string
		fault string
	}{
		"unknown command":    {nil, []string{"serv"}, `there is no command "serv"`},
		"unknown subcommand": {nil, []string{"drops", "lst"}, `relay drops has no command "lst"; see relay drops --help`},
		"an argument":        {nil, []string{"serve", "now"}, `serve takes no arguments, got "now"`},
		"unknown flag":       {nil, []string{"serve", "--no-such-flag"}, "unknown flag: --no-such-flag; see relay serve --help"},
		"missing flag":       {nil, []string{"send"}, "--title and --text are both missing; give one of them"},
		"missing id":         {nil, []string{"dead", "delete"}, "relay dead delete needs an id; relay dead list shows them"},
		"missing matcher":    {nil, []string{"silence", "add"}, "relay silence add needs a matcher, like category=disk"},
		"not a URL": {
			nil,
			[]string{"status", "--ops-url", "http://[x"},
			`--ops-url: "http://[x" is not a URL; write it like http://127.0.0.1:8080`,
		},
		"no URL": {
			nil,
			[]string{"status", "--ops-url", "relay:9090"},
			`--ops-url: "relay:9090" is not a URL; write it like http://127.0.0.1:8080`,
		},
		"unknown trace":   {nil, []string{"simulate", "--generate", "strom"}, `--generate: trace kind "strom" does not exist; use one of`},
		"missing webhook": {nil, []string{"check", "--explain", "/nope.json"}, "--explain: open /nope.json: no such file or directory"},
		"missing trace":   {nil, []string{"simulate", "--trace", "/nope.jsonl"}, "--trace: open /nope.jsonl: no such file or directory"},
		"unknown variable beside a fault": {
			[]string{"RELAY_LISTN=x", "RELAY_DRAIN=5"},
			[]string{"check"},
			"RELAY_LISTN: unknown setting; did you mean RELAY_LISTEN?",
		},
		"missing file": {nil, []string{"check", "--config", "/does/not/exist.yaml"}, "/does/not/exist.yaml: cannot be read"},
		"label":        {nil, []string{"send", "--title", "x", "--label", "novalue"}, "novalue must be formatted as key=value"},
		"bad variable": {[]string{"RELAY_LISTEN=x"}, []string{"serve"}, `RELAY_LISTEN: "x" is not an address; use host:port`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := runRelay(t, c.env, c.args...)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, c.fault)
		})
	}
}

func TestHelpListsTheCommands(t *testing.T) {
	t.Parallel()
	stdout, _, code := runRelay(t, nil)
	require.Equal(t, 0, code)
	for _, command := range []string{"serve", "demo", "check", "send", "version"} {
		require.Contains(t, stdout, "  "+command)
	}
}

func TestVersionPrintsOneLine(t *testing.T) {
	t.Parallel()
	stdout, _, code := runRelay(t, nil, "version")
	require.Equal(t, 0, code)
	require.Regexp(t, `^relay \S+\n$`, stdout)

	asJSON, _, code := runRelay(t, nil, "version", "--json")
	require.Equal(t, 0, code)
	var v struct{ Version, Go, Platform string }
	require.NoError(t, json.Unmarshal([]byte(asJSON), &v))
	require.Equal(t, stdout, "relay "+v.Version+"\n")
	require.Equal(t, runtime.Version(), v.Go)
	require.Contains(t, v.Platform, "/")
}

func TestCheckPrintsWhatIsInEffect(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "channels: [{name: a, slack_webhook_url: 'https://h.example/services/very-secret', window: 5m}]\n")
	stdout, stderr, code := runRelay(t, []string{"RELAY_CONFIG=" + file, "RELAY_CHANNEL_A_PACE=3s"}, "check", "--print")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "the configuration is valid")
	require.Contains(t, stderr, "relay.yaml: redis_url: is not set")
	require.Contains(t, stdout, "window: 5m\n")
	require.Contains(t, stdout, "pace: 3s")
	require.Contains(t, stdout, "slack_webhook_url: '********'")
	require.NotContains(t, stdout+stderr, "very-secret")
}

func TestCheckPrintsTheConfigurationOnRequestOnly(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=a"}, "check")
	require.Zero(t, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "warning: ")
	require.True(t, strings.HasSuffix(stderr, "\nthe configuration is valid\n"), stderr)
	for _, other := range []string{"--online", "--json", "--explain=x"} {
		_, stderr, code = runRelay(t, nil, "check", "--print", other)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "--print prints YAML, and cannot be combined")
	}
}

func TestCheckPrintsItsVerdictAsJSON(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=a"}, "check", "--json")
	require.Zero(t, code, stderr)
	var v verdict
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	require.True(t, v.Valid)
	require.Empty(t, v.Faults)
	require.NotEmpty(t, v.Warnings)

	stdout, _, code = runRelay(t, []string{"RELAY_DRAIN=5", "RELAY_LISTN=x"}, "check", "--json")
	require.Equal(t, 2, code)
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	require.False(t, v.Valid)
	require.Len(t, v.Faults, 2)
	require.Contains(t, v.Faults[0], "RELAY_LISTN: unknown setting")
	require.Contains(t, v.Faults[1], `RELAY_DRAIN: "5" is not a duration`)
}

func TestCheckReportsAllFaultsTogether(t *testing.T) {
	t.Parallel()
	_, stderr, code := runRelay(t, []string{"RELAY_CHANNEL_DEFAULT_WINDOW=x", "RELAY_LISTEN=y"}, "check")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `RELAY_CHANNEL_DEFAULT_WINDOW: "x" is not a duration`)
	require.Contains(t, stderr, `RELAY_LISTEN: "y" is not an address`)
}

func TestCheckRefusesUnknownVariables(t *testing.T) {
	t.Parallel()
	_, stderr, code := runRelay(t, []string{"RELAY_LISTN=x", "RELAY_SERVICE_HOST=10.0.0.1"}, "check")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "RELAY_LISTN: unknown setting; did you mean RELAY_LISTEN?")
	require.NotContains(t, stderr, "SERVICE_HOST")
	require.Contains(t, stderr, "unknown RELAY_ variables: 1; remove or correct them")
}

func TestManWritesAPageForEachCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man")
	_, stderr, code := runRelay(t, nil, "man", dir)
	require.Equal(t, 0, code, stderr)
	page, err := os.ReadFile(filepath.Join(dir, "relay-silence-add.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), `relay silence add category=disk`)
	_, _, code = runRelay(t, nil, "man")
	require.Equal(t, 2, code)
}

func TestCompletionIsAvailable(t *testing.T) {
	t.Parallel()
	stdout, _, code := runRelay(t, nil, "completion", "bash")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "__start_relay")
}

func TestCommandThatCannotPrintFails(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { full.Close() })
	for _, args := range [][]string{{"version"}, {"simulate", "--events", "1"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), args, full, io.Discard)
			require.ErrorContains(t, err, "print: write /dev/full")
		})
	}
}
