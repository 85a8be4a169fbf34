package replica

import (
	"cmp"
	"context"
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// effective is the policy that can be followed: a process that never reached Redis knows neither the use nor
// the replicas, unless it was told.
func (ch *channel) effective() Policy {
	policy := (*ch.policies.Load())[ch.scope.Name]
	if policy == PolicyLocal && !ch.reached.Load() && ch.opts.Replicas == 0 {
		return PolicyClosed
	}
	return cmp.Or(policy, PolicyClosed)
}

// fallback decides as the channel's policy says. What Redis is known to hold is a duplicate.
func (ch *channel) fallback(ctx context.Context, requests []store.Request) ([]store.Decision, error) {
	ch.outage.deciding.RLock()
	if !ch.outage.down() { // it came back while this waited
		ch.outage.deciding.RUnlock()
		return ch.decideAll(requests)
	}
	defer ch.outage.deciding.RUnlock()
	if requests[0].Forced {
		return nil, ch.outage.because(fmt.Errorf("%w: %w: events cannot be forced past the limits while Redis is unavailable", store.ErrUnavailable, store.ErrNotSent))
	}
	if requests[0].Delayed > 0 {
		return nil, ch.outage.because(fmt.Errorf("%w: %w: what waits for a slot waits until Redis serves", store.ErrUnavailable, store.ErrNotSent))
	}
	policy := ch.effective()
	if policy != PolicyLocal && policy != PolicyOpen {
		return nil, ch.outage.because(fmt.Errorf("%w: %w: the channel is closed while Redis is unavailable", store.ErrUnavailable, store.ErrNotSent))
	}
	decisions := make([]store.Decision, len(requests))
	places := ch.remembered.unknown(requests, ch.opts.Now(), ch.opts.Dedupe)
	if len(places) > 0 && ch.outage.full(&ch.journals) {
		return nil, ch.outage.because(fmt.Errorf("%w: %w: the bound on events admitted without Redis is reached", store.ErrUnavailable, store.ErrNotSent))
	}
	a, err := ch.decideAlone(ctx, policy, pick(requests, places))
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		decisions[place] = a.Decisions[i]
		ch.keep(&requests[place], &decisions[place], a.Numbers[i])
	}
	for i := range decisions {
		if decisions[i].DecidedBy == "" {
			decisions[i] = store.Decision{Outcome: store.Duplicate, DecidedBy: store.ByFallback, Durable: true}
			ch.keep(&requests[i], &decisions[i], 0)
		}
	}
	return decisions, nil
}

// decideAlone decides without Redis.
func (ch *channel) decideAlone(ctx context.Context, policy Policy, requests []store.Request) (store.Answer, error) {
	switch {
	case len(requests) == 0:
		return store.Answer{}, nil
	case policy == PolicyOpen:
		return ch.local.Decide(ctx, store.ModeOpen, ch.scope, requests)
	default:
		return ch.local.Decide(ctx, store.ModeAdmit, ch.scope, ch.shares(requests))
	}
}

// keep notes a decision of the fallback, to be folded back.
func (ch *channel) keep(r *store.Request, d *store.Decision, number int64) {
	if d.Outcome != store.Admitted {
		if d.Outcome == store.Never && !neverFits(r) {
			d.Outcome, d.RetryAfter = store.Dropped, 0 // it cannot fit this replica's share, but Redis may come back any time
		}
		ch.count(r, d)
		return
	}
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	ch.outage.journal = append(ch.outage.journal, journaled{*r, number})
	ch.outage.bytes += journalBytes(r)
	ch.journals.Add(journalBytes(r))
	for _, level := range r.Levels {
		ch.outage.seeded[level.Key] = true
	}
}

// never tells whether the request can never fit its levels.
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

// shares are the requests with this replica's share of each limit. A level begins with this replica's share of
// its last known use.
func (ch *channel) shares(requests []store.Request) []store.Request {
	o := &ch.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	shared := make([]store.Request, len(requests))
	for i, r := range requests {
		shared[i] = r
		shared[i].Fairness, shared[i].Headroom, shared[i].Policy = nil, r.Headroom/o.share, nil
		shared[i].Levels = make([]ratelimit.Level, len(r.Levels))
		for l, level := range r.Levels {
			share := level
			share.Windows = make([]ratelimit.Window, len(level.Windows))
			for w, window := range level.Windows {
				share.Windows[w] = ratelimit.Window{Limit: window.Limit / o.share, Per: window.Per}
			}
			share.Strategy.Burst /= o.share
			shared[i].Levels[l] = share
			if last, known := o.use[level.Key]; known && !o.seeded[level.Key] { // of which there is only a bounded number
				o.seeded[level.Key] = true
				ch.seedUse(share, last, o.share)
			}
		}
	}
	return shared
}

func (ch *channel) seedUse(share ratelimit.Level, last use, replicas int64) {
	ago := ch.opts.Now().Sub(last.at)
	units := (last.units + replicas - 1) / replicas
	if units > 0 && ago < ratelimit.Longest(share.Windows) && share.Windows[0].Limit > 0 {
		ch.local.Seed(share, units, ago)
	}
}
