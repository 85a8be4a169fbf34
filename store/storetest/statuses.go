package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var statusBehaviours = []behaviour{
	{"StatusesAgreeWithReportAndPeek", testStatusesAgreeWithReportAndPeek},
	{"StatusesOfManyChannelsAreInOrder", testStatusesOfManyChannelsAreInOrder},
	{"LengthenedWindowIsWarmingUntilItWasFilledOnce", testLengthenedWindowIsWarmingUntilItWasFilledOnce},
	{"ChannelIsActiveForAnHourAfterAnEvent", testChannelIsActiveForAnHourAfterAnEvent},
}

// statusQuery asks for the status of a channel, with a level of it.
func statusQuery(channel store.Channel, spec ratelimit.LevelSpec) store.StatusQuery {
	level := store.LevelOf(spec, channel, "")
	if spec.Name == ratelimit.LevelChannel {
		level = store.ChannelLevel(spec, channel.Group)
	}
	return store.StatusQuery{Channel: channel, Level: level, Longest: ratelimit.Longest(spec.Windows)}
}

// status reads the status of one channel.
func (b Fixture) status(t *testing.T, channel store.Channel, spec ratelimit.LevelSpec) store.ChannelStatus {
	t.Helper()
	all, err := b.Statuses(t.Context(), []store.StatusQuery{statusQuery(channel, spec)})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// A status is what a report and a peek return, whatever the strategy is, for open, full, closed and shadow levels.
func testStatusesAgreeWithReportAndPeek(t *testing.T, start Start) {
	b := start(t)
	b.ToTheGrid()
	strategies := map[string]ratelimit.Strategy{
		"sliding-log": {}, "gcra": {Kind: ratelimit.GCRA, Burst: 2}, "fixed-window": {Kind: ratelimit.FixedWindow},
		"sliding-counter": {Kind: ratelimit.SlidingCounter}, "sliding-buckets": {Kind: ratelimit.SlidingBuckets},
		"gate": {Kind: ratelimit.Gate}, "backlog": {Kind: ratelimit.Backlog},
	}
	for name, strategy := range strategies {
		for _, limit := range []int64{0, 2, 5} {
			for _, shadow := range []bool{false, true} {
				channel := store.Channel{Group: fmt.Sprint("g-", name, limit, shadow), Name: "c"}
				windows := []ratelimit.Window{{Limit: limit, Per: time.Minute}}
				if strategy.Kind != ratelimit.Backlog {
					windows = append(windows, ratelimit.Window{Limit: 2 * limit, Per: time.Hour})
				}
				spec := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: windows, Strategy: strategy, Shadow: shadow}
				level := statusQuery(channel, spec).Level
				for i := range 3 {
					_, err := b.Admit(t.Context(), channel, []store.Request{{
						Request: ratelimit.Request{ID: fmt.Sprint(i), Levels: []ratelimit.Level{level}, Category: "a"},
						Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
					}})
					require.NoError(t, err)
				}
				report, err := b.Report(t.Context(), channel)
				require.NoError(t, err)
				usage, err := store.UsageOf(t.Context(), b, channel, []ratelimit.Level{level})
				require.NoError(t, err)
				require.Equal(t, store.ChannelStatus{Report: report, Usage: usage, Active: true}, b.status(t, channel, spec),
					"%s, limit %d, shadow %t", name, limit, shadow)
			}
		}
	}
}

func testStatusesOfManyChannelsAreInOrder(t *testing.T, start Start) {
	b := start(t)
	spec := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{{Limit: 9, Per: time.Minute}}}
	var queries []store.StatusQuery
	for i := range 250 {
		queries = append(queries, statusQuery(store.Channel{Group: fmt.Sprint("g", i), Name: fmt.Sprint("c", i)}, spec))
	}
	for _, i := range []int{3, 101, 249} {
		for n := range i%7 + 1 {
			_, err := b.Admit(t.Context(), queries[i].Channel, []store.Request{{
				Request: ratelimit.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{queries[i].Level}, Category: "a"},
			}})
			require.NoError(t, err)
		}
	}
	all, err := b.Statuses(t.Context(), queries)
	require.NoError(t, err)
	require.Len(t, all, len(queries))
	for i, status := range all {
		want := int64(0)
		if i == 3 || i == 101 || i == 249 {
			want = int64(i%7 + 1)
		}
		require.Equal(t, want, status.Usage[0].Used, "channel %d", i)
		require.Equal(t, want, status.Ledger.Received, "channel %d", i)
	}
	none, err := b.Statuses(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func testChannelIsActiveForAnHourAfterAnEvent(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	spec := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{l.Channel}}
	require.False(t, b.status(t, Scope, spec).Active)
	b.MustAdmit(t, l.Request("1", "a"))
	b.Advance(time.Hour)
	require.True(t, b.status(t, Scope, spec).Active)
	b.Advance(time.Hour)
	require.False(t, b.status(t, Scope, spec).Active)
}

// A window that is lengthened counts too little until it has passed once, whatever else changes meanwhile.
func testLengthenedWindowIsWarmingUntilItWasFilledOnce(t *testing.T, start Start) {
	b := start(t)
	warming := func(longest time.Duration) time.Duration {
		window := ratelimit.Window{Limit: 9, Per: longest}
		spec := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{window}}
		return b.status(t, Scope, spec).Warming
	}
	require.Zero(t, warming(time.Minute), "what is new was not lengthened")
	b.Advance(time.Second)
	require.Equal(t, time.Hour, warming(time.Hour))
	b.Advance(time.Hour - moment)
	require.Equal(t, moment, warming(time.Hour))
	b.Advance(moment)
	require.Zero(t, warming(time.Hour))
	b.Advance(-moment)
	require.Zero(t, warming(time.Hour), "it has been filled")
	require.Zero(t, warming(time.Minute), "nor was it when it is shortened")
	require.Equal(t, time.Hour, warming(time.Hour))
	require.Equal(t, 2*time.Hour, warming(2*time.Hour))
	b.Advance(time.Minute)
	require.Equal(t, 59*time.Minute, warming(time.Hour), "a shorter one is filled sooner")
}
