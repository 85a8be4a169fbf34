package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slackrelay/store"
)

// playProblems plays changes of documents, some of them of an old version, until there is no room.
func playProblems(tb testing.TB, rt *rapid.T, a, b Fixture) {
	tb.Helper()
	h := &problemsComparison{comparison: comparison{tb: tb, t: rt, a: a, b: b}, versions: map[string]int64{}}
	rt.Repeat(map[string]func(*rapid.T){
		"save": h.save, "save more": h.save, "load": h.load, "due": h.due, "wait": h.wait, "": h.compare,
	})
}

type problemsComparison struct {
	comparison
	versions map[string]int64 // the newest that was loaded of each document
}

func (h *problemsComparison) save(t *rapid.T) {
	h.t = t
	names := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 4, rapid.ID[int]).Draw(t, "names")
	var changes []store.ProblemChange
	for _, n := range names {
		name := fmt.Sprint("p/", n)
		c := store.ProblemChange{
			Name: name, Version: h.versions[name], Data: make([]byte, rapid.SampledFrom([]int{0, 1, 10, 100}).Draw(t, "size")),
			Keep: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "keep"),
		}
		if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
			c.Version = 0
		}
		if rapid.Bool().Draw(t, "wakes") {
			c.Wake = h.b.Now().Add(rapid.SampledFrom(comparedWaits).Draw(t, "wake") - time.Second).UnixMicro()
		}
		changes = append(changes, c)
	}
	n := rapid.Int64Range(-1, 2).Draw(t, "count")
	counts := store.ProblemCounts{Received: n, Merged: n, Held: n}
	same(&h.comparison, "save", func(w Fixture) (bool, error) { return w.A.SaveProblems(t.Context(), Scope, changes, counts) })
}

func (h *problemsComparison) load(t *rapid.T) {
	h.t = t
	name := fmt.Sprint("p/", rapid.IntRange(0, 9).Draw(t, "name"))
	h.versions[name] = same(&h.comparison, "load", func(w Fixture) (store.Problem, error) {
		_, all, err := w.A.Problems(t.Context(), Scope, []string{name})
		return all[0], err
	}).Version
}

func (h *problemsComparison) due(t *rapid.T) {
	h.t = t
	most := rapid.IntRange(1, 5).Draw(t, "most")
	for _, p := range same(&h.comparison, "due", func(w Fixture) ([]store.Problem, error) {
		_, all, err := w.A.DueProblems(t.Context(), Scope, most)
		return append([]store.Problem{}, all...), err
	}) {
		h.versions[p.Name] = p.Version
	}
}

func (h *problemsComparison) wait(t *rapid.T) {
	d := rapid.SampledFrom(append(comparedWaits, time.Hour, store.ProblemsOverdue)).Draw(t, "time")
	h.a.Advance(d)
	h.b.Advance(d)
}

func (h *problemsComparison) compare(t *rapid.T) {
	h.comparison.compare(t)
	same(&h.comparison, "list", func(w Fixture) ([]store.Problem, error) {
		_, all, err := w.A.ListProblems(t.Context(), Scope, "p/", "", 100)
		return append([]store.Problem{}, all...), err
	})
}
