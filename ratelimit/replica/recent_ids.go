package replica

import (
	"sync"
	"time"

	"slackrelay/store"
)

// maxRemembered is how many ids of a channel one half of a [remembered] holds. An id has at most 40 bytes, so that a
// channel takes less than 3 MiB.
const maxRemembered = 10_000

// remembered are ids that the shared state is known to hold, so that they are duplicates without it too: the newest, in
// two halves of which the older one is forgotten when the newer one is full or has become too old.
type remembered struct {
	mu       sync.Mutex
	new, old map[string]time.Time // when the id was admitted, or found to have been
	since    time.Time            // when the newer half began
}

// learn remembers the ids of what was admitted, or had been before.
func (m *remembered) learn(requests []store.Request, decisions []store.Decision, now time.Time, dedupe time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range decisions {
		if decisions[i].Outcome.Drops() {
			continue
		}
		if decisions[i].Outcome == store.Duplicate && m.has(requests[i].ID, now, dedupe) {
			continue // since when it first was
		}
		if m.new == nil || len(m.new) >= maxRemembered || now.Sub(m.since) >= dedupe {
			m.old, m.new, m.since = m.new, map[string]time.Time{}, now
		}
		m.new[requests[i].ID] = now
	}
}

// has tells whether an id is known to be a duplicate. The caller holds the lock.
func (m *remembered) has(id string, now time.Time, dedupe time.Duration) bool {
	at, ok := m.new[id]
	if !ok {
		at, ok = m.old[id]
	}
	return ok && now.Sub(at) < dedupe
}

// unknown are the places of the requests whose ids are not known to be duplicates.
func (m *remembered) unknown(requests []store.Request, now time.Time, dedupe time.Duration) (places []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range requests {
		if !m.has(requests[i].ID, now, dedupe) {
			places = append(places, i)
		}
	}
	return places
}

func (m *remembered) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.new, m.old = nil, nil
}
