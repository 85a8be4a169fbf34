package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// A digest says which limits refused, what was not heard, and what was sent and held back in its time; Slack may refuse its chart.
func TestDigestSaysWhyAndWhatWasNotHeard(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(n int) error{
		"chart": nil,
		"no chart": func(n int) error {
			if n == 3 {
				return &notifier.Error{Action: notifier.Degrade, Reason: "invalid_blocks"}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{answer: answer}
				ch := channel("a", to)
				ch.Tiers = tiers(ratelimit.Window{Limit: 3, Per: 30 * time.Minute}, ratelimit.Window{Limit: 2, Per: time.Hour})
				ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, Digest: true}
				ch.Digest = store.DigestTerms{Interval: 30 * time.Minute, Minimum: 1}
				b := setup(nil, ch)
				for i, category := range []string{"disk", "disk", "disk", "disk", "cpu", "net"} {
					_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: []events.Event{{
						ID: fmt.Sprint(i), Fingerprint: fmt.Sprint(i), Source: "generic", Category: category, Severity: events.Error,
						Status: events.Firing, Title: "title",
					}}})
					require.NoError(t, err)
				}
				b.run(t, time.Hour)
				sent := to.posted()
				require.Len(t, sent, 4)
				require.Equal(t, "📋 *3 events held back* in a\n🔇 Not heard at all: 🟠 *net*", sent[3])
				if answer != nil {
					require.Len(t, to.at, 5)
				}
				below := to.below()[3]
				require.Contains(t, below, "Why: category limit (2 per hour): 2 · channel limit (3 per 30 minutes): 1")
				require.Contains(t, below, "What: 🟠 3 error · 3 firing")
				require.Contains(t, below, ": 6 received, 3 sent, 3 held back")
				require.Contains(t, below, "🔇 net  🟠 1 · 1 firing · 0 sent\ndisk  🟠 2 · 2 firing · 2 sent")
			})
		})
	}
}

// The categories that a digest counts together have no name of their own, and some of them may have been heard.
func TestDigestDoesNotSayThatOtherCategoriesWereNotHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Tiers = tiers(ratelimit.Window{Limit: 2000, Per: time.Hour}, ratelimit.Window{Limit: 1, Per: time.Hour})
		ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, Digest: true}
		ch.Digest = store.DigestTerms{Interval: 30 * time.Minute, Minimum: 1}
		b := setup(nil, ch)
		for n := range 2 {
			var all []events.Event
			for i := range 1100 {
				all = append(all, events.Event{
					ID: fmt.Sprint(n, "-", i), Source: "generic", Category: fmt.Sprint("c", i), Severity: events.Error, Title: fmt.Sprint("t", i),
				})
			}
			_, err := b.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Sender: "me", Events: all})
			require.NoError(t, err)
		}
		b.run(t, 3*time.Hour)
		digests := slices.DeleteFunc(to.posted(), func(text string) bool { return !strings.Contains(text, "held back") })
		require.Len(t, digests, 1)
		require.NotContains(t, digests[0], "Not heard")
	})
}
