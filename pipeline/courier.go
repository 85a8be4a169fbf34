package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/notifier"
	"slackrelay/store"
)

// CourierOptions configure a Courier.
type CourierOptions struct {
	Outbox   store.Outbox
	Channels []Channel
	// Operations is where the operators of the relay are told; nil = nowhere.
	Operations notifier.Sender
	// Limiter gets the slots back of what never reached Slack.
	Limiter store.Limiter
	Metrics *Metrics
	Logger  *slog.Logger
	// Tracer makes spans of what becomes of messages whose webhook is traced; nil = none are made.
	Tracer trace.Tracer
	// SendTimeout bounds one request to Slack; a send starts only if the lease outlasts it. Default 5 s.
	SendTimeout time.Duration
	// Settle is how long after an attempt of which nobody knows whether it arrived it is looked up in Slack, and,
	// where it is not found, again after twice that. Default 10 s; negative = it is never looked up.
	Settle time.Duration
	// Budget is what the channels of one Slack credential share; nil = nothing is shared.
	Budget store.Budget
	// PostsPerMinute, EditsPerMinute and LookupsPerMinute are what a credential may do in a minute, over all
	// channels. Default 300, 50 and 50.
	PostsPerMinute, EditsPerMinute, LookupsPerMinute int64
	// Poll is how often at least a channel is looked at; what is admitted on this replica wakes it at
	// once. Default 250 ms.
	Poll time.Duration
	// CallTimeout bounds one call of the outbox. Default 2 s.
	CallTimeout time.Duration
	// SettleFor is how long writing down what became of a sent message is tried. Default 30 s.
	SettleFor time.Duration
}

func (o CourierOptions) withDefaults() CourierOptions {
	orElse := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orElse(&o.SendTimeout, notifier.DefaultTimeout)
	orElse(&o.Settle, 10*time.Second)
	orElse(&o.Poll, 250*time.Millisecond)
	orElse(&o.CallTimeout, 2*time.Second)
	orElse(&o.SettleFor, 30*time.Second)
	for n, value := range map[*int64]int64{&o.PostsPerMinute: 300, &o.EditsPerMinute: 50, &o.LookupsPerMinute: 50} {
		if *n == 0 {
			*n = value
		}
	}
	return o
}

// Courier takes what was admitted to Slack: per channel in order, one sender at a time over all replicas,
// at the channel's pace. Channels do not wait for each other.
type Courier struct {
	opts  CourierOptions
	wakes map[string]chan struct{}
}

// NewCourier makes a Courier; Run runs it.
func NewCourier(opts CourierOptions) *Courier {
	c := &Courier{opts: opts.withDefaults(), wakes: map[string]chan struct{}{}}
	for _, ch := range c.destinations() {
		c.wakes[ch.Name] = make(chan struct{}, 1)
	}
	return c
}

// destinations are the channels, their fallbacks, and the operators.
func (c *Courier) destinations() []Channel {
	var all []Channel
	for _, ch := range c.opts.Channels {
		all = append(all, ch)
		if ch.Fallback != nil {
			all = append(all, ch.fallback())
		}
	}
	if c.opts.Operations != nil {
		all = append(all, operations(c.opts.Operations))
	}
	return all
}

// Wake makes a channel look at its outbox now. It never blocks.
func (c *Courier) Wake(channel string) {
	select {
	case c.wakes[channel] <- struct{}{}:
	default: // it is awake already
	}
}

// Run delivers until ctx ends, then finishes what is in hand, gives up its leases and returns.
func (c *Courier) Run(ctx context.Context) {
	var channels sync.WaitGroup
	for _, ch := range c.destinations() {
		channels.Go(func() { c.run(ctx, ch, c.opts.Logger.With("channel", ch.Name)) })
	}
	channels.Wait()
}

func (c *Courier) run(ctx context.Context, ch Channel, log *slog.Logger) {
	defer c.release(ctx, ch, log)
	d := newDelivery(c, ch, log)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		woken := false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.wakes[ch.Name]:
			woken = true
		}
		if ctx.Err() != nil {
			return // a select picks any case that is ready
		}
		timer.Reset(d.next(ctx, woken))
	}
}

// release gives up the lease, so that another replica need not wait for its end.
func (c *Courier) release(ctx context.Context, ch Channel, log *slog.Logger) {
	ctx, cancel := c.finishing(ctx, c.opts.CallTimeout)
	defer cancel()
	if err := c.opts.Outbox.Release(ctx, ch.scope()); err != nil {
		log.WarnContext(ctx, "could not give up the lease; another replica goes on when it ends", "error", err)
	}
}

// finishing is a context for what must be finished although the Courier is told to stop.
func (*Courier) finishing(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}

// delivery is the work on one channel.
type delivery struct {
	*Courier
	channel    Channel
	terms      store.Terms
	workspace  string // "" = its credential is shared with nobody
	log        *slog.Logger
	away       bool                 // the outbox could not be reached the last time
	blindUntil time.Time            // Slack does not let us look for messages
	tokens     map[string]time.Time // calls of a method that were taken, and until when they may be made
	exhausted  time.Time            // until when there is nothing left to post with
	refusal    string               // why the budget allowed nothing the last time
}

func newDelivery(c *Courier, ch Channel, log *slog.Logger) *delivery {
	d := &delivery{Courier: c, channel: ch, log: log, tokens: map[string]time.Time{}}
	d.terms = store.Terms{Pace: ch.Pace, TTL: ch.TTL, Digest: ch.Digest, Backlog: ch.backlog()}
	if shared, ok := ch.Sender.(notifier.Workspace); ok && c.opts.Budget != nil {
		d.workspace = shared.Workspace()
	}
	if _, ok := ch.Sender.(notifier.Editor); !ok {
		d.terms.Digest.EditEvery = 0
	}
	return d
}

// canLook tells whether a message that may have been posted can be looked up.
func (d *delivery) canLook() bool {
	finder, ok := d.channel.Sender.(notifier.Finder)
	return ok && d.opts.Settle > 0 && time.Now().After(d.blindUntil) && finder.Findable()
}

// next does what is next in the channel, if it may be done now, and says how long to wait before the next look:
// claim, render, send, settle. The pace is kept by the claim.
func (d *delivery) next(ctx context.Context, woken bool) time.Duration {
	claim, err := d.claimNext(ctx, woken)
	if err != nil {
		return d.poll()
	}
	switch claim.State {
	case store.Empty:
		return d.poll()
	case store.DigestDue:
		return d.digest(ctx)
	case store.PostReady:
		return min(d.take(ctx, store.MethodPost), d.poll())
	case store.EditReady:
		return min(d.take(ctx, store.MethodUpdate), d.poll())
	case store.Stale:
		d.expire(ctx, claim.Entry)
		return 0
	case store.Claimed:
		d.deliver(ctx, claim)
		return 0
	default:
		return min(claim.Wait, d.poll())
	}
}

// claimNext claims what is next. Where something was just admitted, there likely is something to post: the call that
// it needs is taken meanwhile. Else it is only looked at first, so that an idle channel takes nothing.
func (d *delivery) claimNext(ctx context.Context, woken bool) (store.Claim, error) {
	if !woken || d.has(store.MethodPost) || time.Now().Before(d.exhausted) {
		look := !d.has(store.MethodPost) && !d.has(store.MethodUpdate)
		return d.claim(ctx, look)
	}
	taken := make(chan allowance, 1)
	go func() { taken <- d.ask(ctx, store.MethodPost) }()
	claim, err := d.claim(ctx, false)
	d.took(store.MethodPost, <-taken)
	return claim, err
}

func (d *delivery) claim(ctx context.Context, look bool) (store.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	d.terms.LookupDelay = 0
	if d.canLook() {
		d.terms.LookupDelay = d.opts.Settle
	}
	claim, err := d.opts.Outbox.Claim(ctx, d.channel.scope(), d.terms, look)
	switch {
	case err != nil && !d.away && !errors.Is(err, context.Canceled):
		d.log.ErrorContext(ctx, "outbox unavailable; sending stops until it is available", "why", store.Describe(err), "error", err)
		d.away = true
	case err == nil && d.away:
		d.log.InfoContext(ctx, "outbox available again")
		d.away = false
	}
	return claim, err
}

// laneRests is by how much less often a lane is looked at: it is mostly empty, and woken by what this replica admits.
const laneRests = 8

// poll is jittered, so that replicas do not ask in step.
func (d *delivery) poll() time.Duration {
	every := d.opts.Poll
	if d.channel.Lane {
		every *= laneRests
	}
	return every - rand.N(every/2) //nolint:gosec // jitter is no secret
}

// digest has a digest put into the outbox.
func (d *delivery) digest(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	if err := d.opts.Outbox.Digest(ctx, d.channel.scope(), d.terms.Digest); err != nil {
		d.log.WarnContext(ctx, "the digest could not be made; it is tried again", "error", err)
		return d.poll()
	}
	return 0
}
