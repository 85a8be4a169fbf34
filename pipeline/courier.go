package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/outbox"
	"slackrelay/ratelimit"
)

// CourierOptions configure a Courier.
type CourierOptions struct {
	Outbox   outbox.Outbox
	Channels []Channel
	Metrics  *Metrics
	Logger   *slog.Logger
	// SendTimeout bounds one request to Slack; a send starts only if the lease outlasts it. Default 5 s.
	SendTimeout time.Duration
	// Poll is how often at least a channel is looked at; what is admitted on this replica wakes it at
	// once. Default 250 ms.
	Poll time.Duration
	// CallTimeout bounds one call of the outbox. Default 2 s.
	CallTimeout time.Duration
	// SettleFor is how long writing down what became of a sent message is tried. Default 30 s.
	SettleFor time.Duration
}

func (o CourierOptions) withDefaults() CourierOptions {
	if o.SendTimeout == 0 {
		o.SendTimeout = notifier.DefaultTimeout
	}
	if o.Poll == 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 2 * time.Second
	}
	if o.SettleFor == 0 {
		o.SettleFor = 30 * time.Second
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
	for _, ch := range opts.Channels {
		c.wakes[ch.Name] = make(chan struct{}, 1)
	}
	return c
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
	for _, ch := range c.opts.Channels {
		channels.Go(func() { c.run(ctx, ch, c.opts.Logger.With("channel", ch.Name)) })
	}
	channels.Wait()
}

func (c *Courier) run(ctx context.Context, ch Channel, log *slog.Logger) {
	defer c.release(ctx, ch, log)
	d := delivery{Courier: c, channel: ch, log: log}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.wakes[ch.Name]:
		}
		if ctx.Err() != nil {
			return // a select picks any case that is ready
		}
		timer.Reset(d.next(ctx))
	}
}

// release gives up the lease, so that another replica need not wait for its end.
func (c *Courier) release(ctx context.Context, ch Channel, log *slog.Logger) {
	ctx, cancel := c.finishing(ctx, c.opts.CallTimeout)
	defer cancel()
	if err := c.opts.Outbox.Release(ctx, ch.outbox()); err != nil {
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
	channel Channel
	log     *slog.Logger
	away    bool // the outbox could not be reached the last time
}

// next takes the next message of the channel to Slack, if it may be sent now, and says how long to wait
// before the next look: claim, render, send, settle. The pace is kept by the claim.
func (d *delivery) next(ctx context.Context) time.Duration {
	claim, err := d.claim(ctx)
	switch {
	case err != nil:
		return d.poll()
	case claim.State == outbox.Empty:
		return d.poll()
	case claim.State != outbox.Claimed:
		return min(claim.Wait, d.poll())
	}
	message, err := render(claim.Entry)
	if err == nil {
		err = d.send(ctx, claim, message)
	}
	if errors.Is(err, errLeaseTooShort) {
		d.log.WarnContext(ctx, "message not sent: the lease ends too soon; it is claimed again")
		return d.poll()
	}
	d.settle(ctx, claim.Entry, err)
	return 0
}

func (d *delivery) claim(ctx context.Context) (outbox.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	claim, err := d.opts.Outbox.Claim(ctx, d.channel.outbox(), d.channel.Pace)
	switch {
	case err != nil && !d.away && !errors.Is(err, context.Canceled):
		d.log.ErrorContext(ctx, "outbox unreachable; nothing is sent until it is back", "error", err)
		d.away = true
	case err == nil && d.away:
		d.log.InfoContext(ctx, "outbox reachable again")
		d.away = false
	}
	return claim, err
}

// poll is jittered, so that replicas do not ask in step.
func (d *delivery) poll() time.Duration {
	return d.opts.Poll - rand.N(d.opts.Poll/2) //nolint:gosec // jitter is no secret
}

// render makes a message of an entry.
func render(entry outbox.Entry) (notifier.Message, error) {
	var event events.Event
	if entry.Kind != string(ratelimit.KindMessage) {
		return notifier.Message{}, undecodable(fmt.Sprintf("an entry of the unknown kind %q", entry.Kind))
	}
	if err := json.Unmarshal(entry.Payload, &event); err != nil {
		return notifier.Message{}, undecodable(err.Error())
	}
	return notifier.Render(event), nil
}

func undecodable(answer string) *notifier.Error {
	return &notifier.Error{Action: notifier.GiveUp, Reason: notifier.Undecodable, Answer: answer}
}

// errLeaseTooShort is a send that was not started: the lease might have ended before Slack's answer.
var errLeaseTooShort = errors.New("the lease ends too soon to send")

// send posts the message, unless another sender might take over meanwhile. It ends on its own although the
// Courier is told to stop: a request that is cut leaves open whether the message was posted.
func (d *delivery) send(ctx context.Context, claim outbox.Claim, message notifier.Message) error {
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	if time.Until(claim.Until) < d.opts.SendTimeout {
		return errLeaseTooShort
	}
	start := time.Now()
	_, err := d.channel.Sender.Send(ctx, message)
	d.opts.Metrics.answered(d.channel.Name, time.Since(start))
	return err
}
