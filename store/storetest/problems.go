package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

var problemsBehaviours = []behaviour{
	{"DocumentIsChangedByCompareAndSet", testDocumentIsChangedByCompareAndSet},
	{"ChangeOfAnOldVersionWritesNothing", testChangeOfAnOldVersionWritesNothing},
	{"CountsAreAddedWithTheChange", testCountsAreAddedWithTheChange},
	{"DocumentIsDueAtItsWakeTime", testDocumentIsDueAtItsWakeTime},
	{"LookAtDueDocumentsKeepsOthersAway", testLookAtDueDocumentsKeepsOthersAway},
	{"DocumentIsForgottenWhenItDoesNotChange", testDocumentIsForgottenWhenItDoesNotChange},
	{"DocumentThatNobodyWakesIsForgotten", testDocumentThatNobodyWakesIsForgotten},
	{"DocumentsAreListedByName", testDocumentsAreListedByName},
	{"DocumentsOfOtherChannelsAreApart", testDocumentsOfOtherChannelsAreApart},
}

// SaveProblem saves one change of a document of [Scope] from the version that the store has, and returns its new version.
func (b Fixture) SaveProblem(t tester, name, data string, wake time.Time) int64 {
	_, before, err := b.C.Problems(t.Context(), Scope, []string{name})
	require.NoError(t, err)
	change := store.ProblemChange{Name: name, Version: before[0].Version, Data: []byte(data), Keep: time.Hour}
	if !wake.IsZero() {
		change.Wake = wake.UnixMicro()
	}
	saved, err := b.C.SaveProblems(t.Context(), Scope, []store.ProblemChange{change}, store.ProblemCounts{})
	require.NoError(t, err)
	require.True(t, saved)
	return b.problem(t, name).Version
}

// problem loads one document of [Scope].
func (b Fixture) problem(t tester, name string) store.Problem {
	now, all, err := b.B.Problems(t.Context(), Scope, []string{name})
	require.NoError(t, err)
	require.Equal(t, b.Now().UnixMicro(), now)
	require.Len(t, all, 1)
	require.Equal(t, name, all[0].Name)
	return all[0]
}

func testDocumentIsChangedByCompareAndSet(t *testing.T, start Start) {
	b := start(t)
	require.Equal(t, store.Problem{Name: "p/1"}, b.problem(t, "p/1"), "it does not exist")
	first := b.SaveProblem(t, "p/1", "one\x00two 3", time.Time{})
	require.Equal(t, "one\x00two 3", string(b.problem(t, "p/1").Data))
	second := b.SaveProblem(t, "p/1", "two", time.Time{})
	require.Greater(t, second, first)
	_, all, err := b.B.Problems(t.Context(), Scope, []string{"p/2", "p/1", "p/3"})
	require.NoError(t, err)
	require.Equal(t, []store.Problem{{Name: "p/2"}, {Name: "p/1", Version: second, Data: []byte("two")}, {Name: "p/3"}}, all)
	b.SaveProblem(t, "p/1", "", time.Time{})
	require.Zero(t, b.problem(t, "p/1").Version)
	third := b.SaveProblem(t, "p/1", "three", time.Time{})
	require.Greater(t, third, second, "a version never comes back")
}

func testChangeOfAnOldVersionWritesNothing(t *testing.T, start Start) {
	b := start(t)
	version := b.SaveProblem(t, "p/1", "one", time.Time{})
	before := b.Snapshot(t)
	for _, stale := range []int64{0, version - 1, version + 1} {
		saved, err := b.B.SaveProblems(t.Context(), Scope, []store.ProblemChange{
			{Name: "p/2", Data: []byte("two"), Keep: time.Hour, Wake: b.Now().UnixMicro()},
			{Name: "p/1", Version: stale, Data: []byte("new"), Keep: time.Hour},
		}, store.ProblemCounts{Received: 1, Muted: 1})
		require.NoError(t, err)
		require.False(t, saved)
		require.Equal(t, before, b.Snapshot(t))
	}
	saved, err := b.B.SaveProblems(t.Context(), Scope, []store.ProblemChange{{Name: "p/2", Version: 1}}, store.ProblemCounts{})
	require.NoError(t, err)
	require.False(t, saved, "what does not exist has the version 0")
}

func testCountsAreAddedWithTheChange(t *testing.T, start Start) {
	b := start(t)
	changes := []store.ProblemChange{{Name: "p/1", Data: []byte("held"), Keep: time.Hour}}
	saved, err := b.C.SaveProblems(t.Context(), Scope, changes, store.ProblemCounts{Received: 3, Delayed: 1, Merged: 1, Muted: 1, Held: 1})
	require.NoError(t, err)
	require.True(t, saved)
	require.Equal(t, store.Ledger{Received: 3, Delayed: 1, Merged: 1, Muted: 1}, b.BalancedReport(t).Ledger)
	require.Equal(t, int64(1), b.BalancedReport(t).Held)
	saved, err = b.C.SaveProblems(t.Context(), Scope, nil, store.ProblemCounts{Delayed: -1, Muted: 1, Held: -1})
	require.NoError(t, err)
	require.True(t, saved)
	require.Zero(t, b.BalancedReport(t).Held)
	require.Equal(t, store.Ledger{Received: 3, Merged: 1, Muted: 2}, b.BalancedReport(t).Ledger)
}

func testDocumentIsDueAtItsWakeTime(t *testing.T, start Start) {
	b := start(t)
	b.SaveProblem(t, "p/late", "late", b.Now().Add(time.Minute))
	b.SaveProblem(t, "p/soon", "soon", b.Now().Add(time.Second))
	b.SaveProblem(t, "p/never", "never", time.Time{})
	b.requireDueIn(t, store.WorkProblem, time.Second)
	b.Advance(time.Second - time.Microsecond)
	require.Empty(t, b.due(t))
	require.Empty(t, b.dueProblems(t))
	b.Advance(time.Microsecond)
	require.Equal(t, []store.WorkKind{store.WorkProblem}, b.due(t))
	require.Equal(t, []string{"p/soon"}, b.dueProblems(t))
	b.SaveProblem(t, "p/soon", "asleep", time.Time{})
	b.requireDueIn(t, store.WorkProblem, time.Minute-time.Second)
	b.SaveProblem(t, "p/late", "", time.Time{})
	b.requireDueIn(t, store.WorkProblem, -1)
	b.SaveProblem(t, "p/b", "b", b.Now())
	b.SaveProblem(t, "p/a", "a", b.Now())
	b.SaveProblem(t, "p/c", "c", b.Now().Add(-time.Second))
	require.Equal(t, []string{"p/c", "p/a", "p/b"}, b.dueProblems(t), "earliest first")
}

// dueProblems returns the names of the documents of [Scope] that are due now.
func (b Fixture) dueProblems(t tester) (names []string) {
	now, all, err := b.B.DueProblems(t.Context(), Scope, 100)
	require.NoError(t, err)
	require.Equal(t, b.Now().UnixMicro(), now)
	for _, p := range all {
		require.LessOrEqual(t, p.Wake, now)
		names = append(names, p.Name)
	}
	return names
}

func testLookAtDueDocumentsKeepsOthersAway(t *testing.T, start Start) {
	b := start(t)
	b.SaveProblem(t, "p/1", "one", b.Now())
	b.SaveProblem(t, "p/2", "two", b.Now())
	_, all, err := b.A.DueProblems(t.Context(), Scope, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, b.due(t))
	b.requireDueIn(t, store.WorkProblem, store.ProblemsLookAgain)
	b.Advance(store.ProblemsLookAgain)
	require.NotEmpty(t, b.due(t), "the sender that looked may have died")
	b.dueProblems(t)
	b.SaveProblem(t, "p/1", "done", time.Time{})
	require.NotEmpty(t, b.due(t), "the other one is due still")
}

func testDocumentIsForgottenWhenItDoesNotChange(t *testing.T, start Start) {
	b := start(t)
	b.SaveProblem(t, "p/1", "one", time.Time{})
	b.SaveProblem(t, "p/2", "two", b.Now().Add(2*time.Hour))
	b.Advance(time.Hour - time.Microsecond)
	require.NotZero(t, b.problem(t, "p/1").Version)
	b.Advance(time.Microsecond)
	require.Zero(t, b.problem(t, "p/1").Version)
	require.NotZero(t, b.problem(t, "p/2").Version, "it has a wake time")
	require.Equal(t, []string{"p/2"}, b.listProblems(t, "p/", 10))
	b.SaveProblem(t, "p/1", "again", time.Time{})
	require.Equal(t, "again", string(b.problem(t, "p/1").Data))
}

func testDocumentThatNobodyWakesIsForgotten(t *testing.T, start Start) {
	b := start(t)
	b.SaveProblem(t, "p/1", "one", b.Now())
	b.SaveProblem(t, "p/2", "two", b.Now().Add(time.Minute))
	b.Advance(store.ProblemsOverdue)
	b.SaveProblem(t, "p/3", "three", time.Time{})
	require.Zero(t, b.problem(t, "p/1").Version)
	require.NotZero(t, b.problem(t, "p/2").Version)
}

// listProblems returns the names of the documents of [Scope] with a prefix, loaded in pages.
func (b Fixture) listProblems(t tester, prefix string, page int) (names []string) {
	after := ""
	for {
		_, all, err := b.B.ListProblems(t.Context(), Scope, prefix, after, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(all), page)
		if len(all) == 0 {
			return names
		}
		for _, p := range all {
			names = append(names, p.Name)
		}
		after = all[len(all)-1].Name
	}
}

func testDocumentsAreListedByName(t *testing.T, start Start) {
	b := start(t)
	names := []string{"alert/1", "heartbeat/a", "heartbeat/ä", "heartbeat/b", "heartbeats/x", "p/1"}
	for _, name := range names {
		b.SaveProblem(t, name, name, time.Time{})
	}
	slices.Sort(names)
	for _, page := range []int{1, 2, 100} {
		require.Equal(t, names, b.listProblems(t, "", page))
		require.Equal(t, []string{"heartbeat/a", "heartbeat/b", "heartbeat/ä"}, b.listProblems(t, "heartbeat/", page))
	}
	for i := range 250 {
		b.SaveProblem(t, fmt.Sprintf("many/%03d", i), "x", time.Time{})
	}
	b.Advance(time.Hour - time.Second)
	b.SaveProblem(t, "many/240", "x", time.Time{})
	b.Advance(time.Minute)
	require.Equal(t, []string{"many/240"}, b.listProblems(t, "many/", 10), "what is forgotten hides nothing")
}

func testDocumentsOfOtherChannelsAreApart(t *testing.T, start Start) {
	b := start(t)
	b.SaveProblem(t, "p/1", "one", b.Now())
	other := store.Channel{Group: Scope.Group, Name: "~other"}
	_, all, err := b.C.Problems(t.Context(), other, []string{"p/1"})
	require.NoError(t, err)
	require.Zero(t, all[0].Version)
	work, err := b.A.Due(t.Context(), []store.Channel{other}, true)
	require.NoError(t, err)
	require.Empty(t, work)
}
