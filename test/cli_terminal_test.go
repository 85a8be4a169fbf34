package test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier/fakeslack"
)

// hostile is a text that would control a terminal: a title, a colour, a cleared screen, a line of its own, and characters that
// change the direction of text or are invisible.
const hostile = "D\x1b]0;PWNED\x07\x1b[2J\x1b[31mred\u009b1m\r\nfake line\t\u202eevil\u061c\u200b\ufeff\U000e0041\x00\x7fend"

// invisible are the characters beside the control characters that change how a terminal shows a text.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x061c, Hi: 0x061c, Stride: 1},
		{Lo: 0x200b, Hi: 0x200b, Stride: 1},
		{Lo: 0x202a, Hi: 0x202e, Stride: 1},
		{Lo: 0x2066, Hi: 0x2069, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}},
}

// controls returns the characters that would control a terminal.
func controls(text string) []rune {
	var found []rune
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(invisible, r) {
			found = append(found, r)
		}
	}
	return found
}

// Nor does a title add a line to a list; JSON keeps its meaning.
func TestNoCommandLetsASenderControlTheTerminal(t *testing.T) {
	t.Parallel()
	relay := startRelay(t, "RELAY_ADMIN_TOKEN=4dm1n", "RELAY_CHANNELS=alerts,shown", "RELAY_CHANNEL_ALERTS_CATEGORY_LIMIT=1")
	env := []string{
		"RELAY_CHANNELS=alerts,shown", "RELAY_ADMIN_TOKEN=4dm1n",
		"RELAY_OPS_LISTEN=" + strings.TrimPrefix(relay.ops, "http://"), "RELAY_LISTEN=" + strings.TrimPrefix(relay.public, "http://"),
	}
	argument := strings.ReplaceAll(hostile, "\x00", "") // which no argument can contain
	prints := func(args ...string) string {
		stdout, stderr, _ := runRelay(t, env, args...)
		require.Empty(t, controls(stdout+strings.ReplaceAll(stderr, "\rplaying", "")), "%v: %q", args, stdout+stderr) // its own bar
		return stdout + stderr
	}
	hostileEvent := map[string]any{"title": hostile, "text": hostile, "category": "c", "labels": map[string]string{hostile: hostile}}
	relay.post(t, "alerts", event{Title: "first", Category: "c"})
	require.Equal(t, 1, relay.post(t, "alerts", hostileEvent).Dropped)

	list := prints("drops", "list", "--channel", "alerts")
	require.Contains(t, list, "fake line")
	require.Len(t, strings.Split(strings.TrimSpace(list), "\n"), 2, "a title makes no line of its own: %q", list)
	id := regexp.MustCompile(`(?m)^\d+\S*`).FindString(list)
	require.Contains(t, prints("drops", "explain", id, "--channel", "alerts"), "fake line")
	var asJSON struct {
		Drops []struct{ Event struct{ Title string } }
	}
	require.NoError(t, json.Unmarshal([]byte(prints("drops", "list", "--json")), &asJSON))
	require.Equal(t, hostile, asJSON.Drops[0].Event.Title, "escaped, and not changed")

	file := filepath.Join(t.TempDir(), "event.json")
	body, err := json.Marshal(hostileEvent)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, body, 0o600))
	require.Contains(t, prints("check", "--explain", file, "--channel", "alerts"), "fake line")
	prints("check", "--explain", file, "--channel", "alerts", "--json")

	require.Contains(t, prints("silence", "add", "host=db\x1b]0;PWNED\x07\u202e1", "--reason", argument), "relay silence expire")
	require.Len(t, strings.Split(strings.TrimSpace(prints("silence", "list")), "\n"), 2)
	prints("pause", "--reason", argument, "--channel", "alerts")
	require.Contains(t, prints("status"), "paused")
	prints("status", "--channel", "alerts")
	prints("send", "--title", "x", "--id", "id"+argument)
	prints("drops", "explain", "x"+argument, "--channel", "alerts")

	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	line, err := json.Marshal(map[string]any{"at": 0, "category": hostile, "title": hostile})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(trace, append(line, '\n'), 0o600))
	prints("simulate", "--trace", trace)

	for _, path := range []string{"/services/shown/x", "/hooks/shown"} { // as its sender wrote it, and as the relay writes it
		content := map[string]any{"text": hostile}
		encoded, err := json.Marshal(content)
		require.NoError(t, err)
		request(t, http.MethodPost, relay.public+path, "", encoded)
	}
	require.Eventually(t, func() bool { return strings.Count(relay.output.String(), "#shown") >= 2 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 0, relay.stop())
	require.Empty(t, controls(relay.output.String()))
}

// They contain Slack's answer to an event of any sender.
func TestDeadLettersDoNotControlTheTerminal(t *testing.T) {
	t.Parallel()
	slack := startSlack(t)
	relay := startRelay(t, "RELAY_CHANNELS=alerts", "RELAY_SLACK_TOKEN=xoxb-test", "RELAY_SLACK_API_URL="+slack.APIURL(),
		"RELAY_CHANNEL_ALERTS_SLACK_CHANNEL=C0ALERTS")
	slack.Script("C0ALERTS", fakeslack.APIError("is_archived"))
	relay.post(t, "alerts", map[string]string{"title": hostile})
	relay.drained(t, "alerts", 10*time.Second)
	stdout, stderr, code := runRelay(t, []string{"RELAY_CHANNELS=alerts"}, "dead", "list", "--ops-url", relay.ops)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "fake line")
	require.Empty(t, controls(stdout))
	require.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 2)
}
