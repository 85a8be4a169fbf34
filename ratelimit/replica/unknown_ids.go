package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/store"
)

// maxUnknown bounds the ids. Above it all are forgotten, because none is known to matter less than the others.
const maxUnknown = 100_000

// unknownIDs are the ids of requests of which nobody knows whether they were admitted: the call got no answer, or its
// caller left. Only the store can decide them.
type unknownIDs struct {
	some atomic.Bool // there are any: nearly always false, and read without the lock
	mu   sync.Mutex
	ids  map[string]time.Time // until when each matters
}

func (u *unknownIDs) init() { u.ids = map[string]time.Time{} }

// any reports whether there are any.
func (u *unknownIDs) any() bool { return u.some.Load() }

// contain reports whether one of the completed requests is among them.
func (u *unknownIDs) contain(requests []store.Request, now time.Time) bool {
	if !u.any() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range requests {
		if until, ok := u.ids[requests[i].ID]; ok && now.Before(until) {
			return true
		}
	}
	return false
}

func (u *unknownIDs) add(requests []store.Request, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) > maxUnknown {
		clear(u.ids)
	}
	u.some.Store(true)
	for i := range requests {
		u.ids[requests[i].ID] = until
	}
}

func (u *unknownIDs) remove(requests []store.Request) {
	if !u.any() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range requests {
		delete(u.ids, requests[i].ID)
	}
	u.some.Store(len(u.ids) > 0)
}
