package replica

import (
	"context"
	"fmt"
	"sync"

	"slackrelay/store"
)

// coalescer makes one call of what arrives while another is under way. An idle channel waits for nothing.
type coalescer struct {
	mu      sync.Mutex
	waiting []*caller
	running bool
}

// caller is one Admit that waits for its part of a call.
type caller struct {
	requests []store.Request
	done     chan outcome // buffered: the call never waits for a caller that left
}

type outcome struct {
	decisions []store.Decision
	err       error
}

// join has requests decided, together with those of others. Each caller waits on its own context; the call
// has one of its own, so that nobody's leaving cuts it for the others.
func (ch *channel) join(ctx context.Context, requests []store.Request) ([]store.Decision, error) {
	if ch.outage.down() && ch.inDoubt(requests...) {
		return nil, ch.outage.because(fmt.Errorf("%w: it is unknown whether the event was admitted before Redis became unavailable", store.ErrUnavailable))
	}
	c := &caller{requests: requests, done: make(chan outcome, 1)}
	ch.calls.mu.Lock()
	ch.calls.waiting = append(ch.calls.waiting, c)
	start := !ch.calls.running
	ch.calls.running = true
	ch.calls.mu.Unlock()
	if start {
		go ch.serve()
	}
	select {
	case o := <-c.done:
		if o.err == nil {
			ch.settle(requests)
		}
		return o.decisions, o.err
	case <-ctx.Done():
		ch.doubt(requests)
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
}

// serve makes calls until nobody waits.
func (ch *channel) serve() {
	for {
		callers, requests := ch.calls.Take()
		if len(callers) == 0 {
			return
		}
		decisions, err := ch.decideAll(requests)
		for _, c := range callers {
			n := len(c.requests)
			if err != nil {
				c.done <- outcome{err: err}
				continue
			}
			c.done <- outcome{decisions: decisions[:n:n]}
			decisions = decisions[n:]
		}
	}
}

// take takes the callers of the next call, in order, whole.
func (c *coalescer) Take() (callers []*caller, requests []store.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for ; n < len(c.waiting); n++ {
		next := c.waiting[n].requests
		if n > 0 && (len(requests)+len(next) > store.MaxBatch || !batchable(&next[0], &requests[0])) {
			break
		}
		requests = append(requests, next...)
	}
	callers, c.waiting = c.waiting[:n:n], c.waiting[n:]
	c.running = n > 0
	return callers, requests
}

// together tells whether requests may share a call.
func batchable(r *store.Request, other *store.Request) bool {
	return r.Fairness.Equal(other.Fairness) && r.Policy == other.Policy && (r.Delayed > 0) == (other.Delayed > 0) && r.Forced == other.Forced
}

// decideAll asks Redis, or decides as the channel's policy says while Redis is away.
func (ch *channel) decideAll(requests []store.Request) ([]store.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ch.opts.CallTimeout)
	defer cancel()
	if ch.outage.down() {
		return ch.fallback(ctx, requests)
	}
	before := ch.opts.Now()
	a, err := ch.breaker.call(func() (store.Answer, error) {
		if err := ch.meet(ctx); err != nil {
			return store.Answer{}, err
		}
		requests = ch.peers.widen(requests)
		return ch.engine.Decide(ctx, store.ModeAdmit, ch.scope, requests)
	})
	if err != nil {
		return ch.failed(ctx, requests, err)
	}
	ch.reached.Store(true)
	ch.learnClosed(a, requests, before)
	ch.learnUse(requests, a.Decisions, before)
	ch.remembered.learn(requests, a.Decisions, before, ch.opts.Dedupe)
	return a.Decisions, nil
}
