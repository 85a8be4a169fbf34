// Package replica is what one of many relay processes puts in front of the store that they share. A storm costs the store
// nearly nothing, and an outage of the store stays bounded:
//
//   - The closed cache refuses requests of a level that is certainly full, and their counts are merged into the store later.
//   - Requests of one channel that arrive during a call share the next call.
//   - While another replica counts in a longer window of a level, as during a rollout, that window must pass here too.
//   - While the store is unavailable, each channel follows its [Policy]. When the store is back, what was decided meanwhile
//     is merged into it.
//
// Its limits: a refusal can be up to [Options].MaxStale older than a refund, a reset or a raised limit; kill -9 loses the
// counts of the last [Options].MergeEvery, but no admission; and across the start of an outage [PolicyLocal] admits up to
// 2L - L/R of a limit L with R replicas. docs/adr/0004-three-policies-while-redis-is-away.md has the reasons.
package replica

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Limiter is the limiter of one replica. [Limiter.Run] must run while it is used, and [Limiter.Close] ends it.
type Limiter struct {
	store Store
	opts  Options

	mu       sync.Mutex
	channels map[store.Channel]*channel

	policies     atomic.Pointer[map[string]Policy]
	unknown      unknownIDs
	peers        peerWindows
	journalBytes atomic.Int64 // of the journals of all channels

	alive     atomic.Int64 // live replicas, this one included
	reached   atomic.Bool  // the store was reached since the start
	stateLost atomic.Int64 // how often the store came back without its data
	epoch     atomic.Value // string, of the store's data

	background sync.WaitGroup
	ctx        context.Context //nolint:containedctx // ends what runs in the background
	cancel     context.CancelFunc
}

// New returns a Limiter in front of a store.
func New(s Store, opts Options) *Limiter {
	l := &Limiter{store: s, opts: opts.withDefaults(), channels: map[store.Channel]*channel{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.alive.Store(1)
	l.epoch.Store("")
	l.unknown.init()
	l.peers.init()
	l.SetPolicies(l.opts.Policies)
	return l
}

// SetPolicies replaces what channels do while the store is unavailable, from the next call on.
func (l *Limiter) SetPolicies(policies map[string]Policy) { l.policies.Store(&policies) }

// SetLevels replaces the levels that this process limits by, and announces their windows to the other replicas: one level
// for each [store.ChannelLevel], and one for all values of each [store.LevelOf]. While a replica has a longer window of a
// level, requests of the others must pass it too, from their next heartbeat on. Before the first call nothing is announced
// and no window is added.
func (l *Limiter) SetLevels(levels []ratelimit.Level) {
	if leftOut := l.peers.set(levels); leftOut > 0 {
		l.opts.Logger.Warn("too many levels to announce all to the other replicas: while a change of the windows of those "+
			"left out is rolled out, each replica decides by its own", "left_out", leftOut)
	}
	if l.peers.unannounced.Load() {
		return // the first admission announces them
	}
	l.inBackground(func(ctx context.Context) {
		if err := l.sendHeartbeat(ctx); err != nil {
			l.opts.Logger.DebugContext(ctx, "windows are not announced to the other replicas yet", "error", err)
		}
	})
}

// CountMuted counts n muted events here, and merges the count into the store soon: a silenced storm costs the store nearly
// nothing.
func (l *Limiter) CountMuted(_ context.Context, scope store.Channel, n int64) error {
	l.channel(scope).countMuted(n)
	return nil
}

// Refund gives back what a request spent. Requests that this process refused as closed may fit again at once; on other
// replicas they do within [Options].MaxStale.
func (l *Limiter) Refund(ctx context.Context, scope store.Channel, request store.Request) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	err := l.store.Refund(ctx, scope, l.peers.widen([]store.Request{request})[0])
	l.channel(scope).closed.clear()
	return err
}

// Reset empties levels of a channel. Other replicas notice within [Options].MaxStale.
func (l *Limiter) Reset(ctx context.Context, scope store.Channel, levels ...ratelimit.Level) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.CallTimeout)
	defer cancel()
	err := l.store.Reset(ctx, scope, levels...)
	for _, ch := range l.allChannels() {
		ch.closed.clear()
	}
	return err
}

// closeTimeout bounds the last merge of counts.
const closeTimeout = 5 * time.Second

// Close ends what runs in the background, merges the counts that are left, and announces to the other replicas that this
// one ended. It takes at most 5 s, whatever ctx allows.
func (l *Limiter) Close(ctx context.Context) error {
	l.cancel()
	l.background.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := l.Flush(ctx)
	l.logUnmerged(ctx)
	l.sendFarewell(ctx)
	return err
}

// channel is what this process knows of one channel.
type channel struct {
	limiter *Limiter
	store   Store
	opts    *Options // of the limiter

	scope   store.Channel
	closed  closedCache
	calls   coalescer
	counts  counts
	recent  recentIDs
	outage  outage
	breaker breaker
}

func (l *Limiter) channel(scope store.Channel) *channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch, ok := l.channels[scope]
	if !ok {
		ch = &channel{limiter: l, store: l.store, opts: &l.opts, scope: scope}
		ch.breaker.channel = ch
		l.channels[scope] = ch
	}
	return ch
}

// allChannels returns the channels that were used, by name.
func (l *Limiter) allChannels() []*channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.channels), func(a, b *channel) int {
		return cmp.Or(cmp.Compare(a.scope.Name, b.scope.Name), cmp.Compare(a.scope.Group, b.scope.Group))
	})
}

// replicas returns how many processes the limits are divided among.
func (l *Limiter) replicas() int64 { return max(1, l.alive.Load(), int64(l.opts.Replicas)) }

// stretch lengthens the intervals of refreshes and merges with the number of replicas, so that a storming channel costs the
// store at most 20 calls a second: 5 of each of four replicas.
func (l *Limiter) stretch(d time.Duration) time.Duration {
	return d * time.Duration(max(4, l.replicas())) / 4
}

// inBackground runs f until it ends, or Close ends it.
func (l *Limiter) inBackground(f func(ctx context.Context)) {
	if l.ctx.Err() == nil {
		l.background.Go(func() { f(l.ctx) })
	}
}
