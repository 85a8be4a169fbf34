package memory

import (
	"slices"
	"sort"
)

// idTimes remembers when each id was added.
type idTimes struct {
	at    map[string]int64
	order []idTime // oldest first; the last of an id counts
}

type idTime struct {
	id string
	at int64
}

// has reports whether an id was added after a time.
func (t *idTimes) has(id string, after int64) bool {
	at, ok := t.at[id]
	return ok && at > after
}

// add remembers an id.
func (t *idTimes) add(id string, now int64) {
	if t.at == nil {
		t.at = map[string]int64{}
	}
	t.at[id] = now
	place := t.countUntil(now) // not always the end: the clock may have gone back
	t.order = slices.Insert(t.order, place, idTime{id, now})
}

// prune removes the ids that were added until a time.
func (t *idTimes) prune(until int64) {
	old := t.countUntil(until)
	for _, one := range t.order[:old] {
		if t.at[one.id] == one.at {
			delete(t.at, one.id)
		}
	}
	t.order = t.order[old:]
}

func (t *idTimes) countUntil(at int64) int {
	return sort.Search(len(t.order), func(i int) bool { return t.order[i].at > at })
}
