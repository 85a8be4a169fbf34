package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
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
	{"FullDocumentsMakeRoomForNewOnes", testFullDocumentsMakeRoomForNewOnes},
	{"DocumentsAreBoundedInBytes", testDocumentsAreBoundedInBytes},
	{"DocumentsOfOtherChannelsAreApart", testDocumentsOfOtherChannelsAreApart},
	{"InvalidDocumentsAreRefused", testInvalidDocumentsAreRefused},
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
	saved, err := b.C.SaveProblems(t.Context(), Scope, changes, store.ProblemCounts{Received: 3, Delayed: 1, Merged: 1, Muted: 1})
	require.NoError(t, err)
	require.True(t, saved)
	require.Equal(t, store.Ledger{Received: 3, Delayed: 1, Merged: 1, Muted: 1}, b.BalancedReport(t).Ledger)
	saved, err = b.C.SaveProblems(t.Context(), Scope, nil, store.ProblemCounts{Delayed: -1, Muted: 1})
	require.NoError(t, err)
	require.True(t, saved)
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

// saveMany saves new documents with the numbers from, from + 1 and so on.
func (b Fixture) saveMany(t tester, from, n int, data string, wake time.Time) error {
	var changes []store.ProblemChange
	for i := range n {
		c := store.ProblemChange{Name: fmt.Sprintf("p/%04d", from+i), Data: []byte(data), Keep: time.Hour}
		if !wake.IsZero() {
			c.Wake = wake.UnixMicro()
		}
		changes = append(changes, c)
	}
	for part := range slices.Chunk(changes, store.MaxProblems) {
		saved, err := b.C.SaveProblems(t.Context(), Scope, part, store.ProblemCounts{Received: 1, Muted: 1})
		if err != nil {
			return err //nolint:wrapcheck // the error of the store under test
		}
		require.True(t, saved)
	}
	return nil
}

func testFullDocumentsMakeRoomForNewOnes(t *testing.T, start Start) {
	b := start(t)
	require.NoError(t, b.saveMany(t, 0, 150, "asleep", time.Time{}))
	b.Advance(time.Second)
	require.NoError(t, b.saveMany(t, 150, 9_850, "awake", b.Now().Add(time.Minute)))
	b.Advance(time.Second)
	b.SaveProblem(t, "p/0000", "changed last", time.Time{})
	require.NoError(t, b.saveMany(t, 10_000, 100, "new", time.Time{}))
	require.Zero(t, b.problem(t, "p/0001").Version, "it ends first")
	require.NotZero(t, b.problem(t, "p/0000").Version)
	require.NotZero(t, b.problem(t, "p/0150").Version, "it has a wake time")
	require.NoError(t, b.saveMany(t, 10_100, 100, "new and awake", b.Now()))
	require.NoError(t, b.saveMany(t, 10_200, 50, "new and awake", b.Now()))
	before := b.Snapshot(t)
	require.ErrorIs(t, b.saveMany(t, 10_300, 1, "too many", time.Time{}), store.ErrProblemsFull)
	require.Equal(t, before, b.Snapshot(t), "nothing was written or counted")
	b.SaveProblem(t, "p/0150", "", time.Time{})
	require.NoError(t, b.saveMany(t, 10_300, 1, "there is room now", time.Time{}))
	b.SaveProblem(t, "p/0151", "awake", b.Now())
}

func testDocumentsAreBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	large := string(make([]byte, store.MaxProblemBytes))
	require.NoError(t, b.saveMany(t, 0, 1_023, large, b.Now()))
	require.ErrorIs(t, b.saveMany(t, 1_023, 1, large, time.Time{}), store.ErrProblemsFull)
	b.SaveProblem(t, "p/0001", large[1:], b.Now())
	b.SaveProblem(t, "p/0002", "", time.Time{})
	require.NoError(t, b.saveMany(t, 1_023, 1, large, time.Time{}))
	require.NoError(t, b.saveMany(t, 1_024, 1, large, time.Time{}), "the one before makes room")
	_, all, err := b.A.ListProblems(t.Context(), Scope, "p/", "", 100)
	require.NoError(t, err)
	require.Equal(t, 5, len(all), "a reply has 256 KiB, and one document") //nolint:testifylint // the documents are large
	_, all, err = b.A.DueProblems(t.Context(), Scope, 100)
	require.NoError(t, err)
	require.Equal(t, 5, len(all)) //nolint:testifylint // the same
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

func testInvalidDocumentsAreRefused(t *testing.T, start Start) {
	b := start(t)
	good := store.ProblemChange{Name: "p/1", Data: []byte("x"), Keep: time.Hour}
	for name, change := range map[string]func(c *store.ProblemChange){
		"no owner":      func(c *store.ProblemChange) { c.Name = "x" },
		"name too long": func(c *store.ProblemChange) { c.Name = "p/" + string(make([]byte, store.MaxProblemName)) },
		"not UTF-8":     func(c *store.ProblemChange) { c.Name = "p/\xff" },
		"too large":     func(c *store.ProblemChange) { c.Data = make([]byte, store.MaxProblemBytes+1) },
		"not kept":      func(c *store.ProblemChange) { c.Keep = 0 },
		"wake":          func(c *store.ProblemChange) { c.Wake = -1 },
		"version":       func(c *store.ProblemChange) { c.Version = -1 },
		"twice":         func(c *store.ProblemChange) { c.Name = "p/2" },
	} {
		bad := good
		change(&bad)
		changes := []store.ProblemChange{{Name: "p/2", Data: []byte("x"), Keep: time.Hour}, bad}
		_, err := b.C.SaveProblems(t.Context(), Scope, changes, store.ProblemCounts{})
		require.ErrorIs(t, err, ratelimit.ErrRequest, name)
	}
	_, _, err := b.C.Problems(t.Context(), Scope, make([]string, store.MaxProblems+1))
	require.ErrorIs(t, err, ratelimit.ErrRequest)
	_, _, err = b.C.Problems(t.Context(), Scope, []string{"x"})
	require.ErrorIs(t, err, ratelimit.ErrRequest)
	require.Zero(t, b.BalancedReport(t).Ledger.Received)
}
