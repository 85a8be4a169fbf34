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

var problemBoundsBehaviours = []behaviour{
	{"FullDocumentsMakeRoomForNewOnes", testFullDocumentsMakeRoomForNewOnes},
	{"DocumentsAreBoundedInBytes", testDocumentsAreBoundedInBytes},
	{"InvalidDocumentsAreRefused", testInvalidDocumentsAreRefused},
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
