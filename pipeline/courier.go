package pipeline

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/notifier"
	"slackrelay/store"
)

// ClaimQueue is the part of an outbox that hands out entries. One sender at a time has the lease of a channel.
type ClaimQueue interface {
	// Claim claims the next entry of the channel if this sender may send it now. It never blocks. On a look, an entry that
	// could be posted or edited is not claimed: the state reports that it is ready.
	Claim(ctx context.Context, channel store.Channel, terms store.Terms, look bool) (store.Claim, error)
	// Renew renews the lease, and returns when it ends.
	Renew(ctx context.Context, channel store.Channel) (time.Time, error)
	// Release gives up the lease, if this sender has it.
	Release(ctx context.Context, channel store.Channel) error
	// PostedMessage returns what is remembered of a message by its number; nil = nothing.
	PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error)
	// Digest queues a digest, or an edit of it, where one is due.
	Digest(ctx context.Context, channel store.Channel, terms store.DigestTerms) error
}

// ResultStore is the part of an outbox that stores what an attempt to deliver an entry led to. A repeat of any call is
// harmless. [outbox.ErrLeaseLost] is returned when another sender has the lease: nothing was changed.
type ResultStore interface {
	// Ack deletes an entry that was posted.
	Ack(ctx context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error
	// Retry leaves an entry in its place, makes it or its channel wait, and gives up the lease.
	Retry(ctx context.Context, channel store.Channel, entry store.Entry, pausing store.RetryPlan) error
	// Bury moves an entry that can never be posted to the dead letters.
	Bury(ctx context.Context, channel store.Channel, entry store.Entry, death store.DeadReason) error
	// Expire deletes a message that is too old; the next digest includes the counts.
	Expire(ctx context.Context, channel store.Channel, entry store.Entry, counts map[string]int64) error
	// Drop deletes an extra that has nothing to post.
	Discard(ctx context.Context, channel store.Channel, entry store.Entry) error
}

// NoticeQueue is the part of an outbox that queues notices to the operators.
type NoticeQueue interface {
	// Put queues an extra once: the id is remembered for a day.
	Append(ctx context.Context, channel store.Channel, id, kind string, payload []byte) error
}

// CourierOutbox is the part of an outbox that a [Courier] calls.
type CourierOutbox interface {
	ClaimQueue
	ResultStore
	NoticeQueue
}

// CallBudget is what the channels of one Slack credential share.
type CallBudget interface {
	// Take reserves one call of a method, of so many a minute. Otherwise it returns how long to wait, and why: "" = the
	// budget is spent, else the reason of a pause.
	ReserveCall(ctx context.Context, workspace, method string, perMinute int64) (wait time.Duration, reason string, err error)
	// Pause stops all calls with the credential for a time; 0 ends a pause.
	PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error
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
	Budget CallBudget
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
	orElse := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orElse(&o.SendTimeout, notifier.DefaultTimeout)
	orElse(&o.LookupDelay, 10*time.Second)
	orElse(&o.Poll, 250*time.Millisecond)
	orElse(&o.CallTimeout, 2*time.Second)
	orElse(&o.StoreTimeout, 30*time.Second)
	for n, value := range map[*int64]int64{&o.PostsPerMinute: 300, &o.EditsPerMinute: 50, &o.LookupsPerMinute: 50} {
		if *n == 0 {
			*n = value
		}
	}
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
