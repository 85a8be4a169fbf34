package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
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

// Fallback decides within this process while Redis is away. A memory.Store is one; it should say that its decisions are
// [store.ByFallback].
type Fallback interface {
	Decide(ctx context.Context, m store.Mode, channel store.Channel, requests []store.Request) (store.Answer, error)
	Peek(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error)
	Report(ctx context.Context, channel store.Channel) (store.Report, error)
	Categories(ctx context.Context, channel store.Channel) ([]store.CategoryCounts, error)
	Minutes(ctx context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
	// Seed spends units of a level as of a time ago, whatever its limit.
	Seed(level ratelimit.Level, units int64, ago time.Duration)
	// Forget ends the levels and counts of a channel. The ids that it admitted stay known.
	Forget(channel store.Channel, levels []string)
}

// Unsent is who sends what the fallback admits.
type Unsent interface {
	// TakeBack stops sending for a scope, waits for what is in hand, and returns what became of each entry since the
	// last time, by its number. What waits is its caller's then, and so are the dead letters.
	TakeBack(ctx context.Context, scope store.Channel) (map[int64]store.OutageResult, error)
	// Resume lets sending go on.
	Resume(scope store.Channel)
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
	relapses atomic.Int32
	failure  atomic.Pointer[error] // of the last call that failed: why it is away

	mu      sync.Mutex
	since   time.Time
	back    time.Time // when the outage before ended
	share   int64     // replicas that the limits are divided among
	use     map[string]use
	seeded  map[string]bool
	journal []journaled
	bytes   int64                      // of the journal, until it is taken in
	pasts   map[int64]store.AgedResult // of the journal's entries, by number, where they were taken back
}

// use is how full a level was when it was last seen.
type use struct {
	units int64
	at    time.Time
}

// journaled is what the fallback admitted.
type journaled struct {
	request store.Request
	number  int64
}

// What the fallback keeps of what it admitted, in bytes: of a channel, of all, and what each channel may keep however much
// the others do. Above it, senders are told to come again.
const (
	maxJournal   = 16 << 20
	maxJournals  = 48 << 20
	ownJournal   = 1 << 20
	requestBytes = 512 // of a request beside its message
	levelBytes   = 256 // and of each of its levels, here and in the engine
)

// journalBytes is about what a request takes that was admitted: its message waits in the outbox too, which shares it.
func journalBytes(r *store.Request) int64 {
	return int64(requestBytes + len(r.Payload()) + levelBytes*len(r.Levels))
}

// full tells whether no more is kept; all is what the journals of all channels have.
func (o *outage) full(all *atomic.Int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes >= maxJournal || o.bytes >= ownJournal && all.Load() >= maxJournals
}

func (o *outage) init() {
	o.use, o.seeded, o.pasts = map[string]use{}, map[string]bool{}, map[int64]store.AgedResult{}
}

func (o *outage) down() bool { return o.away.Load() }

// learnUse remembers how full the levels were, for the fallback.
func (ch *channel) learnUse(requests []store.Request, decisions []store.Decision, at time.Time) {
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
	circuit *gobreaker.CircuitBreaker[store.Answer]
	outage  *outage
}

func newBreaker(ch *channel) *breaker {
	b := &breaker{outage: &ch.outage}
	b.circuit = gobreaker.NewCircuitBreaker[store.Answer](gobreaker.Settings{
		Name:    ch.scope.Name,
		Timeout: ch.opts.ProbeEvery / 4, // the next probe comes later than that, and finds it half open
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return counts.ConsecutiveFailures >= tripAfter || ch.outage.notSent.Load()
		},
		// Too few replicas is a Redis that is there: its callers are told to come again, and nobody else decides.
		IsExcluded: func(err error) bool { return errors.Is(err, store.ErrRequest) || errors.Is(err, lua.ErrNotReplicated) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed && to == gobreaker.StateOpen {
				ch.goDown()
			}
		},
	})
	return b
}

// call calls Redis, unless it is away.
func (b *breaker) call(f func() (store.Answer, error)) (store.Answer, error) {
	a, err := b.circuit.Execute(func() (store.Answer, error) {
		a, err := f()
		b.outage.notSent.Store(errors.Is(err, store.ErrNotSent))
		b.outage.learnFailure(err)
		return a, err
	})
	if (errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)) && !b.outage.down() {
		return f() // it came back a moment ago
	}
	return a, err
}

// probe tries Redis once, if it is time to.
func (b *breaker) probe(f func() error) error {
	_, err := b.circuit.Execute(func() (store.Answer, error) {
		err := f()
		b.outage.learnFailure(err)
		return store.Answer{}, err
	})
	return err
}

// goDown begins an outage. It runs inside the breaker's lock.
func (ch *channel) goDown() {
	ch.outage.mu.Lock()
	ch.outage.since, ch.outage.share = ch.opts.Now(), ch.replicas()
	ch.outage.countRelapse()
	clear(ch.outage.seeded)
	ch.outage.mu.Unlock()
	ch.outage.away.Store(true)
	ch.closed.clear()
	ch.opts.Logger.Error("going on without Redis", "channel", ch.scope.Name, "policy", ch.effective(), "replicas", ch.replicas(),
		"why", lua.Describe(ch.outage.why()), "error", ch.outage.why())
	ch.inBackground(ch.recover)
}

// failed says what becomes of requests whose call failed: the fallback decides those that Redis certainly does
// not have; of the others nobody knows.
func (ch *channel) failed(ctx context.Context, requests []store.Request, err error) ([]store.Decision, error) {
	if errors.Is(err, store.ErrRequest) {
		return nil, err
	}
	ch.closed.clear()
	unheard := errors.Is(err, store.ErrNotSent) || errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
	if unheard && ch.outage.down() && !ch.inDoubt(requests...) {
		return ch.fallback(ctx, requests)
	}
	if !unheard {
		ch.doubt(requests)
	}
	if lua.FaultOf(err) == "" { // the breaker's own
		err = ch.outage.because(err)
	}
	if !errors.Is(err, store.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return nil, err
}
