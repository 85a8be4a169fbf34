package test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakeslack"
)

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	someID     = regexp.MustCompile(`\d{13}-\d+|[0-9A-Z]{20,}`)
)

// Every command runs as it is printed, beside a relay that has drops and dead letters.
func TestCommandsOfTheDocsWork(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	slack.Script("C0ALERTS", fakeslack.APIError("is_archived"), fakeslack.APIError("is_archived"), fakeslack.APIError("is_archived"),
		fakeslack.APIError("is_archived"))
	env := fast("", slack, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=3") // as many tests fit
	relay := startRelay(t, env...)
	relay.post(t, "alerts", []event{{Category: "a", Title: "refused"}, {Category: "b", Title: "refused"}})
	relay.drained(t, "alerts", 10*time.Second)
	relay.post(t, "alerts", slices.Repeat([]event{{Category: "c", Title: "the last one is dropped"}}, 4))
	shell := docShell{dir: t.TempDir(), env: append(env, "RELAY_OPS_LISTEN="+strings.TrimPrefix(relay.ops, "http://"),
		"RELAY_LISTEN="+strings.TrimPrefix(relay.public, "http://"), "PATH="+filepath.Dir(program())+":/usr/bin:/bin")}
	for name, text := range map[string]string{
		"webhook.json": `{"title":"Disk full","category":"disk"}`,
		"relay.yaml":   channelFile(""), "old.yaml": channelFile(""), "new.yaml": channelFile("    category_limit: 3\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(shell.dir, name), []byte(text), 0o600))
	}
	day, err := os.ReadFile("../docs/day.yaml")
	require.NoError(t, err)
	for name, text := range map[string]string{"day.yaml": string(day), "before.yaml": channelFile("")} {
		require.NoError(t, os.WriteFile(filepath.Join(shell.dir, name), []byte(text), 0o600))
	}
	documents, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	ran := 0
	for _, document := range append(documents, "../README.md") {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				if strings.HasPrefix(line, "relay ") {
					shell.run(t, strings.TrimSpace(line))
					ran++
				}
			}
		}
		for _, post := range regexp.MustCompile(`curl -d @(\S+) 'http://relay:8080([^']+)'`).FindAllStringSubmatch(string(text), -1) {
			body, err := os.ReadFile(filepath.Join(shell.dir, post[1]))
			require.NoError(t, err)
			status, answer := request(t, http.MethodPost, relay.public+post[2], "", body)
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
		}
	}
	require.GreaterOrEqual(t, ran, 14)
}

// Whoever follows them sets variables and runs commands, and ends with a valid configuration.
func TestStepsOfTheSlackPagesAreCommandsAndVariables(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=" + filepath.Dir(program()) + ":/usr/bin:/bin"}
	for _, page := range []string{"slack", "acting"} {
		for _, block := range shellBlock.FindAllStringSubmatch(readPage(t, "../docs/"+page+".md"), -1) {
			for line := range strings.Lines(block[1]) {
				require.Regexp(t, `^(relay|export RELAY_[A-Z_]+=\S+\n$)`, line)
				if set, found := strings.CutPrefix(strings.TrimSpace(line), "export "); found {
					env = append(env, strings.NewReplacer("xoxb-…", "xoxb-1-2-a", "xapp-…", "xapp-1-A0001-2-b",
						"=…", "="+strings.Repeat("0a", 16)).Replace(set))
				}
			}
		}
	}
	out := docShell{dir: t.TempDir(), env: env}.out(t, "relay check --print 2>&1")
	for _, set := range env[1:] {
		name, _, _ := strings.Cut(set, "=")
		require.NotRegexp(t, name+`.* (unknown|not known)`, out)
	}
	require.Contains(t, out, "slack_channel: C0123ABCD")
}

// docShell runs lines of the documentation in a folder with the files that they name.
type docShell struct {
	dir string
	env []string
}

// run puts an id that exists in place of ID in the line.
func (s docShell) run(t *testing.T, line string) {
	t.Helper()
	if strings.Contains(line, " ID") || strings.Contains(line, "<id>") {
		list := s.out(t, "relay "+strings.Fields(line)[1]+" list")
		id := someID.FindString(list)
		require.NotEmpty(t, id, list)
		line = strings.NewReplacer(" ID", " "+id, "<id>", id).Replace(line)
	}
	s.out(t, line)
}

func (s docShell) out(t *testing.T, line string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, s.env, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s%s", line, out, stderr.String())
	return string(out)
}
