package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Policy says what happens to a channel while Redis is away.
type Policy string

// The policies.
const (
	// PolicyLocal gives each replica its share of the limits, the floor of limit / replicas, less what it knows
	// was used. Bound: at most L in a window that lies wholly inside an outage that all replicas see, and at
	// most 2L - L/R across its start or in a partition, provided that Redis keeps its data.
	PolicyLocal Policy = "local"
	// PolicyClosed admits nothing: callers get ErrUnavailable and try again.
	PolicyClosed Policy = "closed"
	// PolicyOpen admits everything.
	PolicyOpen Policy = "open"
)

// Unsent is who sends what the fallback admits.
type Unsent interface {
	// TakeBack stops sending for a scope, waits for what is in hand, and returns the numbers of the entries
	// that were not sent. They are its caller's then.
	TakeBack(ctx context.Context, scope Scope) ([]int64, error)
	// Resume lets sending go on.
	Resume(scope Scope)
}

// tripAfter is how many calls in a row must fail with an unknown outcome until Redis counts as away. Where a
// call certainly was not carried out, one is enough.
const tripAfter = 3

// maxUse bounds the levels of which the last known use is kept.
const maxUse = 4096

// outage is a channel's state while Redis is away, and what it needs to know when that begins.
type outage struct {
	// deciding is held for reading by the fallback, and for writing by the return.
	deciding sync.RWMutex
	away     atomic.Bool
	notSent  atomic.Bool // the last call certainly was not carried out

	mu      sync.Mutex
	since   time.Time
	share   int64 // replicas that the limits are divided among
	use     map[string]use
	seeded  map[string]bool
	journal []journaled
}

// use is how full a level was when it was last seen.
type use struct {
	units int64
	at    time.Time
}

// journaled is what the fallback admitted.
type journaled struct {
	request Request
	number  int64
}

func (o *outage) init() { o.use, o.seeded = map[string]use{}, map[string]bool{} }

func (o *outage) down() bool { return o.away.Load() }

// learnUse remembers how full the levels were, for the fallback.
func (ch *channel) learnUse(requests []Request, decisions []Decision, at time.Time) {
	o := &ch.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range decisions {
		next := 0
		for _, level := range requests[i].Levels {
			var used int64
			for range level.Windows {
				if next < len(decisions[i].Remaining) {
					used = max(used, decisions[i].Remaining[next].Used)
				}
				next++
			}
			if _, known := o.use[level.Key]; known || len(o.use) < maxUse {
				o.use[level.Key] = use{used, at}
			}
		}
	}
}

// breaker keeps callers from waiting for a Redis that is away.
type breaker struct {
	circuit *gobreaker.CircuitBreaker[answer]
	outage  *outage
}

func newBreaker(ch *channel) *breaker {
	b := &breaker{outage: &ch.outage}
	b.circuit = gobreaker.NewCircuitBreaker[answer](gobreaker.Settings{
		Name:    ch.scope.Channel,
		Timeout: ch.opts.ProbeEvery / 4, // the next probe comes later than that, and finds it half open
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return counts.ConsecutiveFailures >= tripAfter || ch.outage.notSent.Load()
		},
		IsExcluded: func(err error) bool { return errors.Is(err, ErrRequest) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed && to == gobreaker.StateOpen {
				ch.goDown()
			}
		},
	})
	return b
}

// call calls Redis, unless it is away.
func (b *breaker) call(f func() (answer, error)) (answer, error) {
	a, err := b.circuit.Execute(func() (answer, error) {
		a, err := f()
		b.outage.notSent.Store(errors.Is(err, errNotSent))
		return a, err
	})
	if (errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)) && !b.outage.down() {
		return f() // it came back a moment ago
	}
	return a, err
}

// probe tries Redis once, if it is time to.
func (b *breaker) probe(f func() error) error {
	_, err := b.circuit.Execute(func() (answer, error) { return answer{}, f() })
	return err
}

// goDown begins an outage. It runs inside the breaker's lock.
func (ch *channel) goDown() {
	ch.outage.mu.Lock()
	ch.outage.since, ch.outage.share = ch.opts.Now(), ch.replicas()
	clear(ch.outage.seeded)
	ch.outage.mu.Unlock()
	ch.outage.away.Store(true)
	ch.closed.clear()
	ch.opts.Logger.Error("going on without Redis", "channel", ch.scope.Channel, "policy", ch.effective(), "replicas", ch.replicas())
	ch.inBackground(ch.recover)
}

// effective is the policy that can be followed: a process that never reached Redis knows neither the use nor
// the replicas, unless it was told.
func (ch *channel) effective() Policy {
	if ch.policy == PolicyLocal && !ch.reached.Load() && ch.opts.Replicas == 0 {
		return PolicyClosed
	}
	return cmp.Or(ch.policy, PolicyClosed)
}

// failed says what becomes of requests whose call failed: the fallback decides those that Redis certainly does
// not have; of the others nobody knows.
func (ch *channel) failed(ctx context.Context, requests []Request, err error) ([]Decision, error) {
	if errors.Is(err, ErrRequest) {
		return nil, err
	}
	ch.closed.clear()
	unheard := errors.Is(err, errNotSent) || errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
	if unheard && ch.outage.down() && !ch.inDoubt(requests...) {
		return ch.fallback(ctx, requests)
	}
	if !unheard {
		ch.doubt(requests)
	}
	if !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil, err
}

// fallback decides as the channel's policy says.
func (ch *channel) fallback(ctx context.Context, requests []Request) ([]Decision, error) {
	ch.outage.deciding.RLock()
	if !ch.outage.down() { // it came back while this waited
		ch.outage.deciding.RUnlock()
		return ch.decideAll(requests)
	}
	defer ch.outage.deciding.RUnlock()
	var a answer
	var err error
	switch ch.effective() {
	case PolicyLocal:
		a, err = ch.local.decide(ctx, modeAdmit, ch.scope, ch.shares(requests))
	case PolicyOpen:
		a, err = ch.local.decide(ctx, modeOpen, ch.scope, requests)
	default:
		return nil, fmt.Errorf("%w: %w: Redis is away, and the channel is closed meanwhile", ErrUnavailable, errNotSent)
	}
	if err != nil {
		return nil, err
	}
	for i := range a.decisions {
		ch.keep(&requests[i], &a.decisions[i], a.numbers[i])
	}
	return a.decisions, nil
}

// keep notes a decision of the fallback, to be folded back.
func (ch *channel) keep(r *Request, d *Decision, number int64) {
	if d.Outcome != Admitted {
		if d.Outcome == Never && !r.never() {
			d.Outcome, d.RetryAfter = Dropped, 0 // it cannot fit this replica's share, but Redis may come back any time
		}
		ch.count(r, d.Outcome)
		return
	}
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	ch.outage.journal = append(ch.outage.journal, journaled{*r, number})
	for _, level := range r.Levels {
		ch.outage.seeded[level.Key] = true
	}
}

// never tells whether the request can never fit its levels.
func (r *Request) never() bool {
	for i := range r.Levels {
		for _, w := range r.Levels[i].Windows {
			if r.units() > r.Levels[i].most(w) {
				return true
			}
		}
	}
	return false
}

// shares are the requests with this replica's share of each limit. A level begins with this replica's share of
// its last known use.
func (ch *channel) shares(requests []Request) []Request {
	o := &ch.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	shared := make([]Request, len(requests))
	for i, r := range requests {
		shared[i] = r
		shared[i].Fairness, shared[i].Headroom = nil, r.Headroom/o.share
		shared[i].Levels = make([]Level, len(r.Levels))
		for l, level := range r.Levels {
			share := level
			share.Windows = make([]Window, len(level.Windows))
			for w, window := range level.Windows {
				share.Windows[w] = Window{Limit: window.Limit / o.share, Per: window.Per}
			}
			share.Strategy.Burst /= o.share
			shared[i].Levels[l] = share
			if !o.seeded[level.Key] {
				o.seeded[level.Key] = true
				ch.seedUse(share, o.use[level.Key], o.share)
			}
		}
	}
	return shared
}

func (ch *channel) seedUse(share Level, last use, replicas int64) {
	ago := ch.opts.Now().Sub(last.at)
	units := (last.units + replicas - 1) / replicas
	if units > 0 && ago < longest(share.Windows) && share.Windows[0].Limit > 0 {
		ch.local.seed(share, units, ago)
	}
}

// recover tries Redis until it is back.
func (ch *channel) recover(ctx context.Context) {
	for sleep(ctx, ch.opts.ProbeEvery-rand.N(ch.opts.ProbeEvery/2)) == nil { //nolint:gosec // jitter is no secret
		if ch.breaker.probe(func() error { return ch.comeBack(ctx) }) == nil {
			return
		}
	}
}

// comeBack ends an outage: what was decided here is folded back, with Redis's time and the ids it had. New
// requests wait meanwhile, so that none is decided here any more.
func (ch *channel) comeBack(ctx context.Context) error {
	if err := ch.beat(ctx); err != nil { // it can be written to
		return err
	}
	readable, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if _, err := ch.engine.Report(readable, ch.scope); err != nil { // and so can be the shard of the channel
		return err
	}
	ch.outage.deciding.Lock()
	defer ch.outage.deciding.Unlock()
	if ch.opts.Unsent != nil {
		defer ch.opts.Unsent.Resume(ch.scope)
	}
	admitted, unsent, err := ch.takeBack(ctx)
	if err != nil {
		return err
	}
	if err := ch.fold(ctx); err != nil {
		return err
	}
	ch.outage.mu.Lock()
	levels := make([]string, 0, len(ch.outage.seeded))
	for key := range ch.outage.seeded {
		levels = append(levels, key)
	}
	since := ch.outage.since
	ch.outage.mu.Unlock()
	ch.local.forget(ch.scope, levels)
	ch.outage.notSent.Store(false)
	ch.outage.away.Store(false)
	ch.opts.Logger.WarnContext(ctx, "back on Redis", "channel", ch.scope.Channel, "policy", ch.effective(),
		"away_for", ch.opts.Now().Sub(since).Round(time.Millisecond), "admitted_meanwhile", admitted, "still_to_send", unsent)
	return nil
}

// takeBack makes parcels of what the fallback admitted: what was not sent yet goes into the shared outbox.
func (ch *channel) takeBack(ctx context.Context) (admitted, unsent int, err error) {
	waiting := map[int64]bool{}
	if ch.opts.Unsent != nil {
		numbers, err := ch.opts.Unsent.TakeBack(ctx, ch.scope)
		if err != nil {
			return 0, 0, fmt.Errorf("take back what was not sent: %w", err)
		}
		for _, number := range numbers {
			waiting[number] = true
		}
	}
	ch.outage.mu.Lock()
	journal := ch.outage.journal
	ch.outage.journal = nil
	ch.outage.mu.Unlock()
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for _, j := range journal {
		if !waiting[j.number] {
			j.request.Enqueue = nil
		} else {
			unsent++
		}
		ch.counts.returning = append(ch.counts.returning, j.request)
	}
	return len(journal), unsent, nil
}
