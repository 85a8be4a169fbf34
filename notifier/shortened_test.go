package notifier_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

func TestAShortenedEventHasANoteInEveryLayout(t *testing.T) {
	t.Parallel()
	block := `{"type":"section","text":{"type":"mrkdwn","text":"x"}}`
	for name, m := range map[string]*events.SlackMessage{
		"plain":  nil,
		"answer": {Thread: "1.2"}, // kept as plain text
		"text":   {Text: strings.Repeat("x", 5000)},
		"blocks": {Text: "x", Blocks: []byte("[" + strings.Repeat(block+",", 49) + block + "]")},
	} {
		e := events.Event{Title: "Disk full", Severity: events.Warning, Category: "disk", Source: "slack", Slack: m, Shortened: 1_000_455}
		rendered, err := json.Marshal(notifier.Renderer{}.Render(e))
		require.NoError(t, err)
		require.Contains(t, string(rendered), "shortened from 1000455 bytes", name)
		e.Shortened = 0
		rendered, err = json.Marshal(notifier.Renderer{}.Render(e))
		require.NoError(t, err)
		require.NotContains(t, string(rendered), "shortened", name)
	}
	full := notifier.Renderer{}.Render(events.Event{
		Title: "x",
		Slack: &events.SlackMessage{Blocks: []byte("[" + strings.Repeat(block+",", 49) + block + "]")}, Shortened: 9,
	})
	var list []any
	require.NoError(t, json.Unmarshal(full.Native.Blocks, &list))
	require.Len(t, list, 50)
}
