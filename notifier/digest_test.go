package notifier_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
)

// largeDigest is a digest of so many categories, with the longest texts.
func largeDigest(categories int) notifier.Digest {
	long := strings.Repeat("&", 400)
	d := notifier.Digest{
		ID: "alerts:1", Channel: strings.Repeat("c", 100), From: time.Unix(1_700_000_000, 0), Last: time.Unix(1_700_001_800, 0),
		Steps: &notifier.DigestSteps{From: time.Unix(1_699_999_200, 0), Step: 2 * time.Minute},
	}
	for i := range categories {
		n := int64(1_000_000 + i)
		d.Categories = append(d.Categories, notifier.DigestCategory{
			Name: fmt.Sprintf("%04d", i) + strings.Repeat("x", 96), Silent: i%2 == 0,
			Dropped: map[events.Severity]int64{events.Critical: n, events.Error: n, events.Warning: n, events.Info: n},
			Expired: map[events.Severity]int64{events.Critical: n}, Firing: n, Resolved: n, Posted: n,
		})
		d.Titles = append(d.Titles, notifier.DigestTitle{Title: long, Count: n})
		d.Reasons = append(d.Reasons, notifier.DigestReason{Reason: long, Count: n})
	}
	for i := range int64(notifier.MaxChartPoints) {
		d.Steps.Received = append(d.Steps.Received, 2*i)
		d.Steps.Sent = append(d.Steps.Sent, i)
		d.Steps.HeldBack = append(d.Steps.HeldBack, i)
	}
	return d
}

// Slack takes the largest digest in each of its layouts, as a post and as an edit.
func TestLargestDigestIsWithinSlacksLimits(t *testing.T) {
	t.Parallel()
	m := notifier.Renderer{Pages: "https://relay.example.com"}.Digest(largeDigest(1000))
	requireSafe(t, m)
	requireAccepted(t, m)
	bot := senders(t, fake(t))["bot"].(notifier.Editor)
	at, err := bot.Send(t.Context(), m)
	require.NoError(t, err)
	for _, layout := range append([]notifier.Message{m}, m.Simpler()...) {
		require.NoError(t, bot.Edit(t.Context(), at, layout))
	}
	require.LessOrEqual(t, len(m.Blocks), 10)
	encoded, err := json.Marshal(m.Blocks)
	require.NoError(t, err)
	require.Contains(t, string(encoded), "… and 980 more")
}

// Where a workspace has no charts and tables, the digest says the same in text, and keeps its other blocks.
func TestDigestWithoutChartAndTableSaysTheSame(t *testing.T) {
	t.Parallel()
	slack := fake(t)
	slack.NoData = true
	for name, sender := range senders(t, slack) {
		m := notifier.Renderer{}.Digest(largeDigest(2))
		_, err := sender.Send(t.Context(), m)
		var refused *notifier.Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, notifier.Degrade, refused.Action, name)
		simpler := m.Simpler()
		require.Len(t, simpler, 2, name)
		for _, layout := range simpler {
			_, err = sender.Send(t.Context(), layout)
			require.NoError(t, err, name)
		}
		require.Len(t, simpler[0].Blocks, len(m.Blocks)-1, "one text for chart and table")
		require.Contains(t, notifier.Plain(simpler[0]), "380 received, 190 sent, 190 held back")
		require.Contains(t, simpler[1].Text, "380 received, 190 sent, 190 held back")
	}
}
