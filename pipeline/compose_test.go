package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/store"
)

// A picture that Slack cannot load costs the picture, not the layout; the link to it stays.
func TestRefusedPictureIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{answer: func(n int) error {
			if n == 0 {
				return &notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}
			}
			return nil
		}}
		b := setup(nil, channel("a", to))
		_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
			ID: "1", Source: "grafana", Category: "c", Severity: events.Error, Status: events.Firing, Title: "hot", Text: "97 °C",
			Links: []events.Link{{Title: "Image", URL: "https://img.example.com/1.png", Image: true}},
		}}})
		require.NoError(t, err)
		b.run(t, time.Minute)
		require.Len(t, to.at, 2)
		require.Len(t, to.sent, 1)
		_, has := to.last.WithoutImages()
		require.False(t, has)
		require.Contains(t, to.last.Links, "<https://img.example.com/1.png|Image>")
		require.NotEmpty(t, to.last.Blocks, "it is still laid out")
	})
}

// The sender of a resolve rarely tells how long the alert lasted: the message of its firing does.
func TestReplyOfAResolveTellsHowLongItLasted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &bot{}
		ch := channel("a", to)
		ch.Handling = &store.MessagePolicy{Overflow: "drop", Resolves: "reply"}
		b := setup(nil, ch)
		alert := events.Event{
			ID: "1", Source: "x", Category: "c", Severity: events.Error, Status: events.Firing, Fingerprint: "f", Title: "broken",
		}
		admit := func() {
			_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{alert}})
			require.NoError(t, err)
			b.run(t, 5*time.Second)
		}
		admit()
		time.Sleep(2*time.Hour + 10*time.Minute)
		alert.ID, alert.Status, alert.Text = "2", events.Resolved, "works again"
		admit()
		require.Len(t, to.sent, 2)
		require.Contains(t, to.notes[1], "works again\nresolved after 2 h 10 min, at ")
	})
}
