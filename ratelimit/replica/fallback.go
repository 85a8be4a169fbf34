package replica

import (
	"context"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// decideLocally decides requests by the channel's policy. An id that the store is known to have is a duplicate. The caller
// holds outage.deciding for reading.
func (ch *channel) decideLocally(requests []store.Request) ([]store.Decision, error) {
	policy, err := ch.localPolicy()
	if err != nil {
		return nil, err
	}
	requests = ch.limiter.peers.widen(requests)
	places := ch.recent.missing(requests, ch.opts.Now(), ch.opts.Dedupe)
	if len(places) > 0 && ch.outage.journalFull(ch.limiter.journalBytes.Load()) {
		return nil, ch.outage.refusal("the bound on events admitted without Redis is reached")
	}
	answer, err := ch.askFallback(policy, pick(requests, places))
	if err != nil {
		return nil, err
	}
	decisions := make([]store.Decision, len(requests))
	next := 0 // of the places
	for i := range requests {
		if next < len(places) && places[next] == i {
			decisions[i] = answer.Decisions[next]
			ch.recordLocal(&requests[i], &decisions[i], answer.Numbers[next])
			next++
			continue
		}
		decisions[i] = store.Decision{
			Decision: ratelimit.Decision{Duplicate: true}, Outcome: store.Duplicate, DecidedBy: store.ByFallback, Durable: true,
		}
		ch.count(&requests[i], &decisions[i])
	}
	return decisions, nil
}

// askFallback decides requests in the fallback, by this replica's share of the limits or by none.
func (ch *channel) askFallback(policy Policy, requests []store.Request) (store.Answer, error) {
	if len(requests) == 0 {
		return store.Answer{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), ch.opts.CallTimeout)
	defer cancel()
	if policy == PolicyOpen {
		return ch.opts.Fallback.AdmitAll(ctx, ch.scope, requests)
	}
	return ch.opts.Fallback.Admit(ctx, ch.scope, ch.divide(requests))
}

// recordLocal records a decision of the fallback, to be merged into the store: an admission in the journal, any other
// decision as a count.
func (ch *channel) recordLocal(r *store.Request, d *store.Decision, number int64) {
	if d.Outcome == store.Admitted {
		ch.limiter.journalBytes.Add(ch.outage.addToJournal(r, number))
		return
	}
	if d.Outcome == store.Never && !neverFits(r) {
		d.Outcome = store.Dropped // it cannot fit this replica's share, but the store may come back any time
		d.RetryAfter = 0
	}
	ch.count(r, d)
}

// neverFits reports whether a request asks for more than one of its levels can ever admit.
func neverFits(r *store.Request) bool {
	for i := range r.Levels {
		for _, w := range r.Levels[i].Windows {
			if r.Units() > r.Levels[i].Capacity(w) {
				return true
			}
		}
	}
	return false
}

// divide returns the requests with this replica's share of each limit. The first time that an outage meets a level, the
// fallback begins with this replica's share of what was used of it.
func (ch *channel) divide(requests []store.Request) []store.Request {
	o := &ch.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	divided := make([]store.Request, len(requests))
	for i, r := range requests {
		r.Fairness = nil
		r.Headroom /= o.divisor
		r.Policy = nil
		levels := make([]ratelimit.Level, len(r.Levels))
		for l := range r.Levels {
			levels[l] = divideLevel(&r.Levels[l], o.divisor)
			if used, known := o.lastUse[levels[l].Key]; known && !o.seeded[levels[l].Key] {
				o.seeded[levels[l].Key] = true // their number is bounded, because that of lastUse is
				ch.seed(levels[l], used, o.divisor)
			}
		}
		r.Levels = levels
		divided[i] = r
	}
	return divided
}

func divideLevel(level *ratelimit.Level, divisor int64) ratelimit.Level {
	share := *level
	share.Windows = make([]ratelimit.Window, len(level.Windows))
	for i, w := range level.Windows {
		share.Windows[i] = ratelimit.Window{Limit: w.Limit / divisor, Per: w.Per}
	}
	share.Strategy.Burst /= divisor
	return share
}

// seed begins a level of the fallback with this replica's share of its last known use, rounded up.
func (ch *channel) seed(share ratelimit.Level, last use, divisor int64) {
	ago := ch.opts.Now().Sub(last.at)
	units := (last.units + divisor - 1) / divisor
	if units > 0 && ago < ratelimit.Longest(share.Windows) && share.Windows[0].Limit > 0 {
		ch.opts.Fallback.Seed(share, units, ago)
	}
}
