package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/store"
	"slackrelay/store/memory"
)

func TestAlertThatFiresOnAfterItBeganToFlapIsSaidWithItsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := channel("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: 10 * time.Minute, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		f.send("a", "disk", events.Firing)
		f.send("a", "disk", events.Resolved)
		f.send("a", "disk", events.Firing)
		f.wait(20 * time.Minute)
		require.Len(t, to.posted(), 4)
		require.Contains(t, to.posted()[3], "disk firing 3")
		require.Contains(t, to.below()[3], "still firing; stable for 15 minutes, after 0 more changes")
	})
}

// An event may be so long that a document has room for it once.
func TestLongAlertThatIsHeldAndBeginsToFlapIsPosted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := holding("a", to)
		ch.Flapping = problem.Flapping{Changes: 3, Within: time.Hour, Stable: 15 * time.Minute}
		f := follow(t, nil, ch)
		defer f.stop()
		long := strings.Repeat("x", 40<<10)
		send := func(status events.Status, id string) {
			_, err := f.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{
				{ID: id, Title: id, Text: long, Category: "c", Severity: events.Error, Status: status, Fingerprint: "f"},
			}})
			require.NoError(t, err)
		}
		for _, id := range []string{"1", "2"} {
			send(events.Firing, id)
			f.wait(2 * time.Minute)
			send(events.Resolved, id+"r")
			f.wait(time.Minute)
		}
		f.wait(time.Hour)
		require.Equal(t, store.Ledger{Received: 5, Admitted: 4, Merged: 1, Delivered: 4}, f.ledger(t, "a"), f.log.String())
		require.Contains(t, to.posted()[3], "2r")
	})
}

// What is wrong with one document concerns no other.
func TestDocumentThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ch := holding("a", to)
		f := follow(t, nil, ch)
		defer f.stop()
		documents := memory.New(f.store, memory.Options{})
		saved, err := documents.SaveProblems(t.Context(), ch.Scope(), []store.ProblemChange{
			{Name: "p/0", Data: json.RawMessage(`{"held":7}`), Wake: time.Now().UnixMicro(), Keep: time.Hour},
		}, store.ProblemCounts{})
		require.NoError(t, err)
		require.True(t, saved)
		f.send("a", "disk", events.Firing)
		f.wait(2 * time.Minute)
		require.Len(t, to.posted(), 1)
		require.Contains(t, f.log.String(), "document p/0 of channel a")
	})
}

// A reload in an outage forgets no resolve.
func TestHeldAlertIsNotPostedAfterAResolveThatPassedBeforeAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		f := follow(t, nil, holding("a", to))
		f.send("a", "disk", events.Firing)
		f.away.Store(true)
		f.send("a", "disk", events.Resolved)
		f.reload(holding("a", to))
		f.wait(5 * time.Minute)
		f.away.Store(false)
		f.wait(5 * time.Minute)
		require.Empty(t, to.posted())
		f.stop()
	})
}

func TestHeldAlertJoinsTheMessageOfItsGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slack := &bot{}
		ch := holding("a", &slack.sink)
		ch.Sender = slack
		ch.Bundle = pipeline.BundleAuto
		ch.Handling.Resolves = store.ResolvesEdit
		f := follow(t, nil, ch)
		defer f.stop()
		for _, alert := range []string{"x", "y"} {
			_, err := f.intake.Admit(t.Context(), pipeline.Arrival{Channel: "a", Events: []events.Event{{
				ID: alert, Title: alert, Category: "c", Severity: events.Error, Status: events.Firing, Fingerprint: alert, Group: "g",
			}}})
			require.NoError(t, err)
			f.wait(2 * time.Minute)
		}
		require.Len(t, slack.sent, 1, "the second one is an edit")
		require.Len(t, slack.edits, 1)
	})
}
