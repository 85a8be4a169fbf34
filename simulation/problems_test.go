package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
	"slackrelay/store"
)

func TestHoldsFlappingAlertsAndInhibitionsAreSimulated(t *testing.T) {
	t.Parallel()
	trace, err := Generate("day", dayLeast, 1)
	require.NoError(t, err)
	ch := channel(1000, 1000, 30*time.Minute, "")
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost}
	plain := Setting{Channel: ch}
	held, flapping, inhibited := plain, plain, plain
	held.Channel.Hold = 2 * time.Minute
	flapping.Channel.Flapping = problem.Flapping{Changes: 4, Within: 10 * time.Minute, Stable: 15 * time.Minute}
	clusterDown := "cluster-down"
	inhibition, err := problem.Inhibition{
		Name: "cluster", Source: []events.Matcher{{Field: "category", Is: &clusterDown}},
		Target: []events.Matcher{{Field: "category", In: []string{"target-down", "queue-full"}}}, Equal: []string{"cluster"},
		SourceTTL: 24 * time.Hour, ReleaseAfter: time.Minute,
	}.Compile()
	require.NoError(t, err)
	inhibited.Inhibitions = []*problem.CompiledInhibition{inhibition}
	results := make([]Result, 4)
	for i, setting := range []Setting{plain, held, flapping, inhibited} {
		results[i], err = Play(t.Context(), trace, setting, noProgress)
		require.NoError(t, err)
		require.Zero(t, results[i].Unheard)
		require.Zero(t, results[i].Dropped-results[i].category("watchdog").Dropped)
	}
	require.Equal(t, int64(len(trace)), results[0].Messages)
	require.GreaterOrEqual(t, results[1].Muted, int64(2*dayBlips-1), "blips end within the hold")
	require.Equal(t, int64(len(trace)), results[1].Messages+results[1].Muted)
	require.Positive(t, results[2].Merged)
	require.Less(t, results[2].Messages, results[0].Messages)
	require.GreaterOrEqual(t, results[3].Muted, int64(dayClusters*dayDependants/2))
}

func TestRemindersAreSimulatedAsIfNobodyAcknowledges(t *testing.T) {
	t.Parallel()
	trace := Trace{
		{At: 0, Category: "disk", Severity: events.Error, Status: events.Firing, Fingerprint: "a"},
		{At: time.Minute, Category: "disk", Severity: events.Error, Status: events.Firing, Fingerprint: "b"},
		{At: 20 * time.Minute, Category: "disk", Severity: events.Error, Status: events.Resolved, Fingerprint: "a"},
		{At: 3 * time.Hour, Category: "disk", Severity: events.Error, Status: events.Resolved, Fingerprint: "b"},
	}
	ch := channel(3, 3, 24*time.Hour, "")
	ch.Handling = &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesEdit, Repeats: true}
	ch.Remind = pipeline.Remind{Reminders: problem.Reminders{After: 30 * time.Minute, Every: time.Hour}, InThread: true}
	inThread := Setting{Channel: ch, Edits: true}
	inChannel := inThread
	inChannel.Channel.Remind.InThread = false
	result, err := Play(t.Context(), trace, inThread, noProgress)
	require.NoError(t, err)
	require.EqualValues(t, 5, result.Messages, "two alerts, and three reminders of the second")
	require.EqualValues(t, 2, result.Sent)
	result, err = Play(t.Context(), trace, inChannel, noProgress)
	require.NoError(t, err)
	require.EqualValues(t, 3, result.Sent, "a reminder in the channel uses a slot")
	require.Positive(t, result.Dropped)
}
