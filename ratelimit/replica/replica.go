package replica

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// SharedOptions configure a Shared limiter.
type Options struct {
	// Replica names this process among those that share the limits; it must be unique to each start.
	Replica string
	// Policies say what happens to a channel while Redis is away. Default PolicyClosed.
	Policies map[string]Policy
	// Replicas is how many processes are expected; 0 = not known. The larger of this and those heard counts.
	Replicas int
	// Fallback decides while Redis is away. It must be set.
	Fallback Fallback
	// Unsent gives up what the fallback admitted and nobody sent yet. Default: all counts as sent.
	Unsent Unsent
	// Dedupe is how long an admitted id is remembered. Default 1 h.
	Dedupe time.Duration
	// CallTimeout bounds one call of Redis. Default 1 s.
	CallTimeout time.Duration
	// MaxStale is how long an answer "closed" is believed without asking again; it bounds the harm of a
	// refund, a reset, a raised limit or a failover. Default 1 s; negative = every request is asked for.
	MaxStale time.Duration
	// FoldEvery is how long drops that were decided here wait to be counted in Redis. Default 250 ms.
	FoldEvery time.Duration
	// ProbeEvery is how often Redis is tried while it is away, less up to half. Default 500 ms.
	ProbeEvery time.Duration
	// Heartbeat is how often this process says that it lives; it counts as alive for three times that.
	// Default 3 s.
	Heartbeat time.Duration
	// Now is a monotonic clock. Default time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	orElse := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orElse(&o.Dedupe, store.DefaultDedupe)
	orElse(&o.CallTimeout, time.Second)
	orElse(&o.MaxStale, time.Second)
	orElse(&o.FoldEvery, 250*time.Millisecond)
	orElse(&o.ProbeEvery, 500*time.Millisecond)
	orElse(&o.Heartbeat, 3*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Shared is what one of many processes puts in front of Redis, so that a storm costs Redis nearly nothing and
// an outage stays bounded:
//
//   - what is known to be closed is refused here, exactly, and counted in Redis later;
//   - requests of one channel that come at the same time share one call;
//   - while another replica counts in a longer window of a level, that window must pass here too;
//   - while Redis is away, each channel follows its [Policy], and what was decided here is folded back after.
//
// Run must run while it is used, and Close ends it.
type Limiter struct {
	engine store.Engine
	opts   Options
	local  Fallback

	mu       sync.Mutex
	channels map[store.Channel]*channel
	doubts   atomic.Bool          // there are any
	unknown  map[string]time.Time // ids whose outcome nobody knows, and until when that matters

	alive     atomic.Int64 // replicas heard, this one included
	reached   atomic.Bool  // Redis was reached since the start
	journals  atomic.Int64 // bytes of what the fallback admitted, over all channels
	stateLost atomic.Int64 // how often Redis came back without its data
	epoch     atomic.Value // string
	policies  atomic.Pointer[map[string]Policy]
	peers     peers

	background sync.WaitGroup
	ctx        context.Context //nolint:containedctx // ends what runs in the background
	cancel     context.CancelFunc
}

var _ store.Limiter = (*Limiter)(nil)

// NewShared puts a Shared in front of an engine, a [Redis] or a [Memory].
func New(e store.Engine, opts Options) *Limiter {
	s := &Limiter{opts: opts.withDefaults(), channels: map[store.Channel]*channel{}, unknown: map[string]time.Time{}}
	s.engine = e
	s.local = s.opts.Fallback
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.alive.Store(1)
	s.epoch.Store("")
	s.peers.init()
	s.SetPolicies(s.opts.Policies)
	return s
}

// SetPolicies changes what happens to channels while Redis is away, from the next call on.
func (s *Limiter) SetPolicies(policies map[string]Policy) { s.policies.Store(&policies) }

// SetLevels tells which levels this process asks for, each of [Tier.Outer] once, and each of [Tier.Of] once for all its
// values, and tells the other replicas: while one of them has a longer window of a level, requests of the others must
// pass it too, from their next heartbeat on. Before it is called for the first time, nothing is told and nothing added.
func (s *Limiter) SetLevels(levels []ratelimit.Level) {
	if left := s.peers.set(levels); left > 0 {
		s.opts.Logger.Warn("there are more levels than replicas tell each other of: while a change of the windows of the last ones is rolled out, each replica decides by its own", "left_out", left)
	}
	if s.peers.unmet.Load() {
		return // the first admission waits until the others know
	}
	s.inBackground(func(ctx context.Context) {
		if err := s.beat(ctx); err != nil {
			s.opts.Logger.DebugContext(ctx, "the other replicas learn a little later which windows count here", "error", err)
		}
	})
}

// channel is what this process knows of one channel.
type channel struct {
	*Limiter
	scope      store.Channel
	closed     closedCache
	calls      coalescer
	counts     counts
	outage     outage
	remembered remembered
	breaker    *breaker
}

func (s *Limiter) channel(scope store.Channel) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, ok := s.channels[scope]
	if !ok {
		ch = &channel{Limiter: s, scope: scope}
		ch.closed.init()
		ch.outage.init()
		ch.breaker = newBreaker(ch)
		s.channels[scope] = ch
	}
	return ch
}

// all are the channels that were used, by name.
func (s *Limiter) all() []*channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.channels), func(a, b *channel) int {
		return compareScopes(a.scope, b.scope)
	})
}

// Admit implements [Limiter].
func (s *Limiter) Admit(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if len(requests) == 0 || len(requests) > store.MaxBatch {
		return nil, store.Check(requests)
	}
	ch := s.channel(scope)
	requests = s.peers.widen(requests)
	decisions := make([]store.Decision, len(requests))
	open := ch.refuseClosed(requests, decisions)
	if len(open) > 0 { // the others are what it refused before, and need no check
		asked := pick(requests, open)
		if err := store.Check(asked); err != nil {
			return nil, err
		}
		decided, err := ch.join(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", scope.Name, err)
		}
		for i, place := range open {
			decisions[place] = decided[i]
		}
	}
	// Only now are those that were refused here counted: of a call that fails, nothing is.
	if len(open) < len(requests) {
		ch.countClosed(requests, decisions)
	}
	return decisions, nil
}

func pick(requests []store.Request, places []int) []store.Request {
	if len(places) == len(requests) {
		return requests
	}
	picked := make([]store.Request, len(places))
	for i, place := range places {
		picked[i] = requests[place]
	}
	return picked
}

// Mute implements [Limiter]. What is muted is counted here, and folded into Redis soon: a silenced storm costs Redis
// nearly nothing.
func (s *Limiter) CountMuted(_ context.Context, scope store.Channel, n int64) error {
	ch := s.channel(scope)
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	ch.counts.begin()
	ch.counts.totals["received"] += n
	ch.counts.totals["muted"] += n
	ch.schedule()
	return nil
}

// Refund implements [Limiter].
func (s *Limiter) Refund(ctx context.Context, scope store.Channel, request store.Request) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	err := s.engine.Refund(ctx, scope, s.peers.widen([]store.Request{request})[0])
	s.channel(scope).closed.clear()
	return err
}

// Reset implements [Limiter]. Other processes notice within MaxStale.
func (s *Limiter) Reset(ctx context.Context, levels ...ratelimit.Level) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	err := s.engine.Reset(ctx, levels...)
	for _, ch := range s.all() {
		ch.closed.clear()
	}
	return err
}

// stretch is by how much the intervals of refreshes and folds grow, so that a storming channel costs Redis at
// most 20 calls a second however many replicas there are: 5 of each of four.
func (s *Limiter) stretch(d time.Duration) time.Duration {
	return d * time.Duration(max(4, s.replicas())) / 4
}

func (s *Limiter) replicas() int64 { return max(1, s.alive.Load(), int64(s.opts.Replicas)) }

// inBackground runs f until it ends, or Close ends it.
func (s *Limiter) inBackground(f func(ctx context.Context)) {
	if s.ctx.Err() == nil {
		s.background.Go(func() { f(s.ctx) })
	}
}
