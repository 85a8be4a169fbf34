package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/notifier"
	"slackrelay/store"
)

// ClaimQueue is the part of an outbox that hands out entries. One sender at a time has the lease of a channel. See
// [store.Queue].
type ClaimQueue interface {
	Claim(ctx context.Context, channel store.Channel, terms store.Terms, look bool) (store.Claim, error)
	Renew(ctx context.Context, channel store.Channel) (until time.Time, err error)
	Release(ctx context.Context, channel store.Channel) error
	PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error)
	Digest(ctx context.Context, channel store.Channel, terms store.DigestTerms) error
}

// ResultStore is the part of an outbox that stores the result of an attempt to deliver an entry. A repeat of any call is
// harmless. See [store.Queue].
type ResultStore interface {
	Ack(ctx context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error
	Retry(ctx context.Context, channel store.Channel, entry store.Entry, plan store.RetryPlan) error
	Bury(ctx context.Context, channel store.Channel, entry store.Entry, reason store.DeadReason) error
	Expire(ctx context.Context, channel store.Channel, entry store.Entry, digestCounts map[string]int64) error
	Discard(ctx context.Context, channel store.Channel, entry store.Entry) error
}

// NoticeQueue is the part of an outbox that queues notices to the operators.
type NoticeQueue interface {
	// Append queues an extra once: the id is remembered for a day.
	Append(ctx context.Context, channel store.Channel, id, kind string, payload []byte) error
}

// CourierOutbox is the part of an outbox that a [Courier] calls.
type CourierOutbox interface {
	ClaimQueue
	ResultStore
	NoticeQueue
}

// Refunder is the part of a limiter that a [Courier] calls.
type Refunder interface {
	// Refund gives back the slots of a request whose message was certainly never posted.
	Refund(ctx context.Context, scope store.Channel, request store.Request) error
}

// CourierOptions configure a [Courier]. Outbox, Channels, Metrics and Logger are needed:
//
//	courier := pipeline.NewCourier(pipeline.CourierOptions{
//		Outbox: queue, Channels: channels, Limiter: limiter, Metrics: metrics, Logger: logger,
//	})
type CourierOptions struct {
	Outbox   CourierOutbox
	Channels []Channel
	// Operations is where notices to the operators are posted; nil = nowhere.
	Operations notifier.Sender
	// Limiter gives back the slots of messages that were never posted; nil = they stay spent.
	Limiter Refunder
	Metrics *Metrics
	Logger  *slog.Logger
	// Tracer makes spans of the delivery of messages whose webhook is traced; nil = none are made.
	Tracer trace.Tracer
	// SendTimeout bounds one request to Slack; a send starts only if the lease outlasts it. Default 5 s.
	SendTimeout time.Duration
	// LookupDelay is the time from an attempt whose delivery state is unknown to the first lookup in Slack; where that
	// finds nothing, a second one follows after twice that. Default 10 s; negative = there are no lookups.
	LookupDelay time.Duration
	// Budget is what the channels of one Slack credential share; nil = nothing is shared.
	Budget store.Budget
	// PostsPerMinute, EditsPerMinute and LookupsPerMinute are the calls of a credential in a minute, over all
	// channels. Default 300, 50 and 50.
	PostsPerMinute, EditsPerMinute, LookupsPerMinute int64
	// Poll is the longest time between two looks at a channel; an admission on this replica wakes it at once. Default
	// 250 ms.
	Poll time.Duration
	// CallTimeout bounds one call of the outbox. Default 2 s.
	CallTimeout time.Duration
	// StoreTimeout bounds the attempts to store the result of an attempt to deliver. Default 30 s.
	StoreTimeout time.Duration
}

func (o CourierOptions) withDefaults() CourierOptions {
	o.SendTimeout = cmp.Or(o.SendTimeout, notifier.DefaultTimeout)
	o.LookupDelay = cmp.Or(o.LookupDelay, 10*time.Second)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.CallTimeout = cmp.Or(o.CallTimeout, 2*time.Second)
	o.StoreTimeout = cmp.Or(o.StoreTimeout, 30*time.Second)
	o.PostsPerMinute = cmp.Or(o.PostsPerMinute, 300)
	o.EditsPerMinute = cmp.Or(o.EditsPerMinute, 50)
	o.LookupsPerMinute = cmp.Or(o.LookupsPerMinute, 50)
	return o
}

// Courier delivers queued entries to Slack: per channel in order, one sender at a time over all replicas, at the channel's
// pace. Channels do not wait for each other.
type Courier struct {
	opts  CourierOptions
	wakes map[string]chan struct{}
}

// NewCourier returns a Courier; Run runs it.
func NewCourier(opts CourierOptions) *Courier {
	c := &Courier{opts: opts.withDefaults(), wakes: map[string]chan struct{}{}}
	for _, ch := range c.destinations() {
		c.wakes[ch.Name] = make(chan struct{}, 1)
	}
	return c
}

// destinations returns the channels, their fallbacks, and the operators.
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

// Run delivers until ctx ends, then finishes the entries that are in flight, gives up its leases and returns.
func (c *Courier) Run(ctx context.Context) {
	var channels sync.WaitGroup
	for _, ch := range c.destinations() {
		channels.Go(func() { newDelivery(c, ch).run(ctx) })
	}
	channels.Wait()
}

// finishing returns a context for what must be finished although the Courier is stopped.
func (*Courier) finishing(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
