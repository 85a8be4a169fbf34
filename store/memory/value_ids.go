package memory

import "maps"

// idTimes remembers when each id was admitted, or refunded.
type idTimes struct {
	at    map[string]int64
	order []string // oldest first
}

// has reports whether an id was added after a time.
func (t *idTimes) has(id string, after int64) bool {
	at, ok := t.at[id]
	return ok && at > after
}

// when returns the time of an id, 0 where it is not remembered.
func (t *idTimes) when(id string) int64 { return t.at[id] }

// add remembers an id, and removes those that were added until the time expired.
func (t *idTimes) add(id string, now, expired int64) {
	if t.at == nil {
		t.at = map[string]int64{}
	}
	for len(t.order) > 0 && t.at[t.order[0]] <= expired {
		delete(t.at, t.order[0])
		t.order = t.order[1:]
	}
	t.at[id] = now
	t.order = append(t.order, id)
}

// noticeIDs are the ids of extras that were appended, and when.
type noticeIDs struct{ at map[string]int64 }

// add remembers an id, removes those that were added until the time expired, and reports whether the id is new.
func (n *noticeIDs) add(id string, now, expired int64) bool {
	maps.DeleteFunc(n.at, func(_ string, at int64) bool { return at <= expired })
	if _, ok := n.at[id]; ok {
		return false
	}
	if n.at == nil {
		n.at = map[string]int64{}
	}
	n.at[id] = now
	return true
}
