package replica

import (
	"context"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// refreshClosed asks the store, in one call, about everything that was hit since the last refresh. What is open by now is
// removed.
func (ch *channel) refreshClosed(ctx context.Context) {
	defer ch.closed.endRefresh()
	requests, keys := ch.closed.hits()
	if len(requests) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	asked := ch.opts.Now()
	a, err := ch.store.Peek(ctx, ch.scope, requests)
	if err != nil {
		ch.closed.clear() // the connection broke, or the server changed
		return
	}
	ch.outage.learnUse(requests, a.Decisions, asked)
	if a.Stepped > 0 { // only an admission corrects the store's clock: what a peek calls closed would never open
		a.Closed = nil
		a.Decisions = nil
	}
	ch.learnClosed(a, requests, asked, keys...)
}

func (c *closedCache) endRefresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refreshing = false
}

// hits returns requests about everything that was hit, each path once, all with the same fairness.
func (c *closedCache) hits() (requests []store.Request, keys []closedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := map[closedKey]bool{}
	for key, e := range c.entries {
		if e.request == nil || len(requests) == ratelimit.MaxBatch {
			continue
		}
		if len(requests) > 0 && !e.request.Fairness.Equal(requests[0].Fairness) {
			continue
		}
		keys = append(keys, key)
		if path := pathKey(e.request); !asked[path] {
			asked[path] = true
			r := *e.request
			r.ID = "closed?" // not the id of an event, so that it is no duplicate
			requests = append(requests, r)
		}
	}
	return requests, keys
}
