package pipeline_test

import (
	"fmt"
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

// held returns the state of a channel, and a page of what is held in it.
func (f *following) held(t *testing.T, channel, before string, most int) (pipeline.ChannelStatus, []pipeline.HeldRecord) {
	t.Helper()
	limiter := memory.New(f.store, memory.Options{})
	archive := &pipeline.Archive{Limiter: limiter, Outbox: limiter, Problems: limiter, Intake: f.intake}
	records, err := archive.Held(t.Context(), channel, before, most)
	require.NoError(t, err)
	status, err := f.status.Channel(t.Context(), channel)
	require.NoError(t, err)
	return status, records
}

func TestHeldEventsAreVisibleWhileTheyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch, up := holding("a", &sink{}), "up"
		ch.Flapping = problem.Flapping{Changes: 2, Within: time.Hour, Stable: 15 * time.Minute}
		f := follow(t, []problem.Inhibition{{
			Name: "node", Source: []events.Matcher{{Field: "label.alert", Is: &up}},
			Target: []events.Matcher{{Field: "label.alert", Is: &up, Not: true}}, Equal: []string{"node"},
			SourceTTL: time.Hour, ReleaseAfter: time.Minute,
		}}, ch)
		defer f.stop()
		start := time.Now().UTC()
		f.send("a", "flaps", events.Firing)
		f.wait(2 * time.Minute)
		f.send("a", "flaps", events.Resolved)
		f.wait(time.Second)
		f.send("a", "up", events.Firing, "node", "1")
		f.wait(time.Second)
		f.send("a", "disk", events.Firing, "node", "1")
		f.wait(time.Second)
		f.send("a", "cpu", events.Firing)
		f.wait(time.Second)
		status, held := f.held(t, "a", "", 10)
		require.Equal(t, int64(2), status.Held, "those that wait for their resolve")
		require.Equal(t, status.Ledger.Delayed, status.Held)
		require.Len(t, held, 4)
		for i, want := range []struct{ alert, by, why string }{
			{"cpu", "hold", "it is held for 1m0s, and posted then unless the alert resolves before"},
			{"disk", "inhibition node", `inhibition "node" mutes it while its source fires; if it still fires afterwards, it is posted`},
			{"up", "hold", "it is held for 1m0s, and posted then unless the alert resolves before"},
			{
				"flaps", "flapping",
				"the alert is flapping, with 0 more changes since then; its state is posted when it has been stable for 15 minutes",
			},
		} {
			require.Equal(t, want.by, held[i].By)
			require.Equal(t, want.why, held[i].Explanation)
			require.Equal(t, want.alert, held[i].Event.Labels["alert"])
		}
		require.Equal(t, start.Add(2*time.Minute+3*time.Second), held[0].Since)
		require.Equal(t, start.Add(3*time.Minute+3*time.Second), *held[0].Until)
		require.Nil(t, held[1].Until)
		f.send("a", "cpu", events.Resolved)
		f.wait(2 * time.Minute)
		status, held = f.held(t, "a", "", 10)
		require.Zero(t, status.Held)
		require.Len(t, held, 2, "a flapping and an inhibited alert")
	})
}

func TestHeldEventsAreListedInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, nil, holding("a", &sink{}))
		defer f.stop()
		for i := range 25 {
			f.send("a", fmt.Sprint("alert", i), events.Firing)
			if i%3 == 0 {
				f.wait(time.Millisecond)
			}
		}
		_, all := f.held(t, "a", "", 100)
		require.Len(t, all, 25)
		var paged []pipeline.HeldRecord
		for before := ""; ; before = paged[len(paged)-1].ID {
			_, page := f.held(t, "a", before, 4)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		require.Equal(t, all, paged)
		archive := &pipeline.Archive{Intake: f.intake}
		_, err := archive.Held(t.Context(), "none", "", 1)
		require.ErrorIs(t, err, pipeline.ErrUnknownChannel)
		require.Equal(t, store.Ledger{Received: 25, Delayed: 25}, f.ledger(t, "a"))
	})
}
