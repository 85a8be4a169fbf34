package replica

import (
	"sync"
	"time"

	"slackrelay/store"
)

// maxRecent is how many ids one half of [recentIDs] has. An id has at most 40 bytes, so that a channel takes less than 3 MiB.
const maxRecent = 10_000

// recentIDs are ids that the store is known to have, so that they are duplicates without it too: the newest, in two halves,
// of which the older one is forgotten when the newer one is full or too old.
type recentIDs struct {
	mu       sync.Mutex
	newer    map[string]time.Time // when the id was admitted, or found to be a duplicate
	older    map[string]time.Time
	rotateAt time.Time // when newer becomes older
}

// learn remembers the ids of what was admitted now or before.
func (ids *recentIDs) learn(requests []store.Request, decisions []store.Decision, now time.Time, dedupe time.Duration) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for i := range decisions {
		if decisions[i].Outcome.Drops() {
			continue
		}
		if decisions[i].Outcome == store.Duplicate && ids.contain(requests[i].ID, now, dedupe) {
			continue // its time is that of its admission
		}
		if ids.newer == nil || len(ids.newer) >= maxRecent || !now.Before(ids.rotateAt) {
			ids.older = ids.newer
			ids.newer = map[string]time.Time{}
			ids.rotateAt = now.Add(dedupe)
		}
		ids.newer[requests[i].ID] = now
	}
}

// contain reports whether an id is known to be a duplicate. The caller holds mu.
func (ids *recentIDs) contain(id string, now time.Time, dedupe time.Duration) bool {
	at, ok := ids.newer[id]
	if !ok {
		at, ok = ids.older[id]
	}
	return ok && now.Sub(at) < dedupe
}

// missing returns the places of the requests that are not known to be duplicates.
func (ids *recentIDs) missing(requests []store.Request, now time.Time, dedupe time.Duration) (places []int) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for i := range requests {
		if !ids.contain(requests[i].ID, now, dedupe) {
			places = append(places, i)
		}
	}
	return places
}

func (ids *recentIDs) clear() {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	ids.newer = nil
	ids.older = nil
}
