package memory

// idTimes remembers when each id was added.
type idTimes struct {
	at    map[string]int64
	order []string // oldest first
}

// has reports whether an id was added after a time.
func (t *idTimes) has(id string, after int64) bool {
	at, ok := t.at[id]
	return ok && at > after
}

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
