package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"slackrelay/notifier"
	"slackrelay/outbox"
)

const (
	// maxFaults is how often a message that may itself be at fault is tried in its place before it is buried.
	maxFaults = 3
	// stopFor is how long a channel whose credential was refused waits before one message tries again, so
	// that a mended credential needs nobody to resume the channel.
	stopFor = time.Minute
	// maxBackoff bounds the wait after a fault of Slack's or the network's.
	maxBackoff = time.Minute
)

// settle writes down what became of a message: this is where an error's decision is carried out.
func (d *delivery) settle(ctx context.Context, entry outbox.Entry, sendErr error) {
	var failure *notifier.Error
	switch {
	case sendErr == nil:
		d.ack(ctx, entry)
	case !errors.As(sendErr, &failure):
		d.retry(ctx, entry, &notifier.Error{Action: notifier.Retry, Reason: notifier.Network, Answer: sendErr.Error()})
	case failure.Action == notifier.GiveUp, failure.OwnFault && entry.Faults+1 >= maxFaults:
		d.bury(ctx, entry, failure)
	default:
		d.retry(ctx, entry, failure)
	}
}

func (d *delivery) ack(ctx context.Context, entry outbox.Entry) {
	err := d.write(ctx, func(ctx context.Context) error {
		return d.opts.Outbox.Ack(ctx, d.channel.outbox(), entry.Number)
	})
	if err != nil {
		d.opts.Metrics.settled(d.channel.Name, resultUnsettled)
		d.log.ErrorContext(ctx, "a posted message could not be settled; it may be posted twice", "number", entry.Number, "error", err)
		return
	}
	d.opts.Metrics.settled(d.channel.Name, resultDelivered)
	d.opts.Metrics.delivered(d.channel.Name, entry.Age)
	d.log.DebugContext(ctx, "message delivered", "number", entry.Number, "age", entry.Age, "attempts", entry.Attempts+1)
}

func (d *delivery) bury(ctx context.Context, entry outbox.Entry, failure *notifier.Error) {
	err := d.write(ctx, func(ctx context.Context) error {
		death := outbox.Death{Reason: string(failure.Reason), Answer: failure.Answer}
		return d.opts.Outbox.Bury(ctx, d.channel.outbox(), entry.Number, death)
	})
	log := d.about(entry, failure)
	if err != nil {
		d.opts.Metrics.settled(d.channel.Name, resultRetried)
		log.ErrorContext(ctx, "a refused message could not be moved to the dead letters; it is tried again", "error", err)
		return
	}
	d.opts.Metrics.settled(d.channel.Name, resultFailed)
	log.ErrorContext(ctx, "message moved to the dead letters")
}

func (d *delivery) retry(ctx context.Context, entry outbox.Entry, failure *notifier.Error) {
	wait := waitAfter(failure, entry.Attempts)
	err := d.write(ctx, func(ctx context.Context) error {
		pausing := outbox.Pausing{Wait: wait, Reason: string(failure.Reason), Fault: failure.OwnFault}
		return d.opts.Outbox.Retry(ctx, d.channel.outbox(), entry.Number, pausing)
	})
	d.opts.Metrics.settled(d.channel.Name, resultRetried)
	log := d.about(entry, failure)
	if err != nil {
		log.ErrorContext(ctx, "message not posted, and the pause could not be written down; it is tried again", "error", err)
		return
	}
	log.WarnContext(ctx, "message not posted; the channel pauses and tries again", "wait", wait)
}

// about is a log that says which message failed, and why.
func (d *delivery) about(entry outbox.Entry, failure *notifier.Error) *slog.Logger {
	return d.log.With("number", entry.Number, "reason", failure.Reason, "answer", failure.Answer, "attempts", entry.Attempts+1)
}

// waitAfter is how long a channel pauses after a failure of a message that was tried attempts times before.
func waitAfter(failure *notifier.Error, attempts int64) time.Duration {
	switch failure.Action {
	case notifier.Wait:
		return failure.After
	case notifier.StopChannel:
		return stopFor
	case notifier.Retry, notifier.GiveUp:
	}
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval, growing.MaxInterval, growing.Multiplier = 500*time.Millisecond, maxBackoff, 2
	wait := growing.NextBackOff()
	for range min(attempts, 16) { // by then the maximum is reached
		wait = growing.NextBackOff()
	}
	return wait
}

// write settles with patience: a message that is in Slack must not be forgotten because Redis is away for a
// moment. It ends when another sender has the lease.
func (d *delivery) write(ctx context.Context, settle func(context.Context) error) error {
	ctx, cancel := d.finishing(ctx, d.opts.SettleFor)
	defer cancel()
	once := func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
		defer cancel()
		err := settle(ctx)
		if errors.Is(err, outbox.ErrLeaseLost) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval, growing.MaxInterval = 50*time.Millisecond, time.Second
	_, err := backoff.Retry(ctx, once, backoff.WithBackOff(growing), backoff.WithMaxElapsedTime(d.opts.SettleFor))
	return err
}
