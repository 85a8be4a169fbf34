package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/decisionlog"
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
	// AckClaim acknowledges an entry, and claims the next one.
	AckClaim(ctx context.Context, channel store.Channel, delivered store.Delivery, terms store.Terms, look bool) (store.Claim, error)
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

// MinuteCounter reads the counts of each minute. See [store.Counts].
type MinuteCounter interface {
	Minutes(ctx context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
}

// CourierOutbox is the part of an outbox that a [Courier] calls.
type CourierOutbox interface {
	DueQueue
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
	// Instances are the channels that templates made; nil = there are no templates.
	Instances *Instances
	// Operations is where notices to the operators are posted; nil = nowhere.
	Operations notifier.Sender
	// Limiter gives back the slots of messages that were never posted; nil = they stay spent.
	Limiter Refunder
	// HasWork reports whether Outbox has something to send to a channel now: a wake-up is ignored if it does not. nil = each
	// wake-up starts a claim.
	HasWork func(channel store.Channel) bool
	// Promote decides the delayed messages of a channel again; [Intake.Promote] does. nil = nothing is delayed in Outbox.
	Promote func(ctx context.Context, channel string)
	// Problems looks at documents of channels when they are due; without a Queue, nobody does.
	Problems ProblemWork
	// Reminders reminds people of messages; nil = nobody is reminded.
	Reminders *Reminders
	// Resumed is called when the outbox is available again after an outage, before anything is done. Default: nothing is called.
	Resumed func()
	Metrics *Metrics
	Logger  *slog.Logger
	// Counts are the counts of each minute, for the charts of digests; nil = digests have no chart.
	Counts MinuteCounter
	// Tracer makes spans of the delivery of messages whose webhook is traced; nil = none are made.
	Tracer trace.Tracer
	// SendTimeout bounds one request to Slack; a send starts only if the lease outlasts it. Default 5 s.
	SendTimeout time.Duration
	// LookupDelay is the time from an attempt whose delivery state is unknown to the first lookup in Slack; where that
	// finds nothing, a second one follows after twice that. Default 10 s; negative = there are no lookups.
	LookupDelay time.Duration
	// Destinations learn from Slack's answers which of them cannot be posted to; nil = nobody does.
	Destinations *Destinations
	// Deliveries keep what became of events whose senders asked for it; nil = nothing is kept.
	Deliveries store.Problems
	// Decisions gets a line for what became of each event; nil = nothing is written.
	Decisions *decisionlog.Log
	// Budget is what the channels of one Slack credential share; nil = nothing is shared.
	Budget store.Budget
	// Poll is the average time between two questions for channels that have something due; an admission on this replica
	// wakes its channel at once. Default 500 ms.
	Poll time.Duration
	// Lease is how long another replica may keep channels after its end. After a Recheck, the Courier asks about all channels at
	// once, and again when it has passed. 0 = at once only.
	Lease time.Duration
	// RecheckEvery is the time in which every channel is claimed from once although nothing in it seems due. Default 5 min;
	// negative = never.
	RecheckEvery time.Duration
	// CallTimeout bounds one call of the outbox. Default 2 s.
	CallTimeout time.Duration
	// StoreTimeout bounds the attempts to store the result of an attempt to deliver. Default 30 s.
	StoreTimeout time.Duration
}

func (o CourierOptions) withDefaults() CourierOptions {
	if o.Resumed == nil {
		o.Resumed = func() {}
	}
	o.SendTimeout = cmp.Or(o.SendTimeout, notifier.DefaultTimeout)
	o.LookupDelay = cmp.Or(o.LookupDelay, 10*time.Second)
	o.Poll = cmp.Or(o.Poll, 500*time.Millisecond)
	o.RecheckEvery = cmp.Or(o.RecheckEvery, 5*time.Minute)
	o.CallTimeout = cmp.Or(o.CallTimeout, 2*time.Second)
	o.StoreTimeout = cmp.Or(o.StoreTimeout, 30*time.Second)
	return o
}

// Courier delivers queued entries to Slack: per channel in order, one sender at a time over all replicas, at the channel's
// pace. Channels do not wait for each other. A channel without anything to do costs nothing: one loop asks the outbox which
// channels have something due, for the Courier and for the promotions of delayed messages.
type Courier struct {
	opts     CourierOptions
	channels map[string]*Channel      // the configured ones
	delaying map[string][]string      // by limit group: those that delay their overflow
	among    []store.Channel          // all destinations but those of templates, and channels that have documents only
	scopes   map[string]store.Channel // the same by name
	made     madeDestinations
	// documented are the channels whose documents are looked at in each recheck, without those that templates made.
	documented map[string]bool

	deliveries channelRuns
	promotions channelRuns
	problems   channelRuns
	memories   memories
	budget     callBudget

	rechecks  chan struct{}
	askAll    atomic.Bool // the next question is about all channels at once
	available atomic.Bool // a server answered the last question
}

// NewCourier returns a Courier; Run runs it.
func NewCourier(opts CourierOptions) *Courier {
	c := &Courier{
		opts: opts.withDefaults(), channels: make(map[string]*Channel, len(opts.Channels)), delaying: map[string][]string{},
		rechecks: make(chan struct{}, 1),
	}
	c.budget.budget = c.opts.Budget
	for i := range opts.Channels {
		ch := &opts.Channels[i]
		c.channels[ch.Name] = ch
		if ch.delays() {
			c.delaying[ch.group()] = append(c.delaying[ch.group()], ch.Name)
		}
		c.among = append(c.among, ch.Scope())
		if ch.Fallback != nil {
			fallback := ch.fallback()
			c.among = append(c.among, fallback.Scope())
		}
	}
	if opts.Operations != nil {
		notices := operations(opts.Operations)
		c.among = append(c.among, notices.Scope())
	}
	c.addDocumented()
	return c
}

// destination returns a channel, the fallback of one, or the operators; nil = there is none of that name.
func (c *Courier) destination(name string) *Channel {
	if name == operationsName && c.opts.Operations != nil {
		notices := operations(c.opts.Operations)
		return &notices
	}
	if of, ok := strings.CutSuffix(name, fallbackSuffix); ok {
		if ch := c.channel(of); ch != nil && ch.Fallback != nil {
			fallback := ch.fallback()
			return &fallback
		}
	}
	return c.channel(name)
}

// channel returns a channel, or a test lane, by its name; nil = there is none.
func (c *Courier) channel(name string) *Channel {
	if ch := c.channels[name]; ch != nil {
		return ch
	}
	return c.opts.Instances.find(name)
}

// Wake makes the Courier deliver what is queued for a channel now. It never blocks.
func (c *Courier) Wake(channel string) {
	to := c.destination(channel)
	if to == nil || c.memories.isExhausted(channel) || c.opts.HasWork != nil && !c.opts.HasWork(to.Scope()) {
		return
	}
	c.deliveries.wake(channel)
}

// Run delivers until ctx ends, then finishes the entries that are in flight, gives up its leases and returns.
func (c *Courier) Run(ctx context.Context) {
	defer c.deliveries.open(func(channel string, woken bool, looked func()) {
		looked = sync.OnceFunc(looked)
		defer looked() // there is no claim where ctx ends first
		newDelivery(c, c.destination(channel), looked).run(ctx, woken)
	})()
	defer c.promotions.open(func(channel string, _ bool, looked func()) {
		defer looked()
		for left := false; !left; left = c.promotions.leave(ctx, channel) {
			c.opts.Promote(ctx, channel)
		}
	})()
	defer c.problems.open(func(channel string, _ bool, looked func()) {
		defer looked()
		for left := false; !left; left = c.problems.leave(ctx, channel) {
			c.lookAtProblems(ctx, c.scope(channel))
		}
	})()
	c.askAll.Store(true)
	var loops sync.WaitGroup
	loops.Go(func() { c.watch(ctx) })
	loops.Go(func() { c.recheck(ctx) })
	loops.Wait()
}

// finishing returns a context for what must be finished although the Courier is stopped.
func (*Courier) finishing(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
