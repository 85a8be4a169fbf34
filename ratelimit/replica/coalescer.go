package replica

import (
	"sync"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// coalescer makes one call of the requests that arrive while another call is under way. On an idle channel nothing waits.
type coalescer struct {
	mu      sync.Mutex
	waiting []*caller
	running bool
}

// caller is one [Limiter.Admit] that waits for its part of a call.
type caller struct {
	requests []store.Request
	done     chan outcome // buffered: the call never waits for a caller that left
}

type outcome struct {
	decisions []store.Decision
	err       error
}

// add lets requests wait for the next call, and reports whether nobody makes calls yet: the caller starts to.
func (c *coalescer) add(requests []store.Request) (added *caller, idle bool) {
	added = &caller{requests: requests, done: make(chan outcome, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, added)
	idle = !c.running
	c.running = true
	return added, idle
}

// next removes the callers of the next call from those that wait: the first ones, whole. None means that nobody waits, and
// that the goroutine that makes the calls ends.
func (c *coalescer) next() (callers []*caller, requests []store.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for ; n < len(c.waiting); n++ {
		more := c.waiting[n].requests
		if n > 0 && (len(requests)+len(more) > ratelimit.MaxBatch || !batchable(&more[0], &requests[0])) {
			break
		}
		requests = append(requests, more...)
	}
	callers = c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	c.running = n > 0
	return callers, requests
}

// batchable reports whether requests may share a call.
func batchable(r, other *store.Request) bool {
	return r.Fairness.Equal(other.Fairness) && r.Policy == other.Policy
}

// deliver gives each caller its part of what a call returned.
func deliver(callers []*caller, decisions []store.Decision, err error) {
	for _, c := range callers {
		if err != nil {
			c.done <- outcome{err: err}
			continue
		}
		n := len(c.requests)
		c.done <- outcome{decisions: decisions[:n:n]}
		decisions = decisions[n:]
	}
}
