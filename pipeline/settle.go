package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

const (
	// maxFaults is how often a message that may itself be at fault is tried in its place before it is buried.
	maxFaults = 3
	// stopFor is how long a channel whose credential was refused waits before one message tries again, so
	// that a mended credential needs nobody to resume the channel.
	stopFor = time.Minute
	// maxBackoff bounds the wait after a fault of Slack's or the network's.
	maxBackoff = time.Minute
	// tellAfter is how many attempts in a row fail before the operators are told, and tellWait how long a wait is
	// of which they are.
	tellAfter = 6
	tellWait  = 2 * time.Minute
)

// failed carries out what the error of a send decides.
func (d *delivery) failed(ctx context.Context, entry store.Entry, j job, sendErr error) {
	failure, ok := errors.AsType[*notifier.Error](sendErr)
	if !ok {
		failure = &notifier.Error{Action: notifier.Retry, Reason: notifier.Network, Doubt: true, Answer: sendErr.Error()}
	}
	edit := j.edit != nil
	switch {
	case failure.OwnFault && entry.Faults+1 >= maxFaults,
		failure.Action == notifier.GiveUp, failure.Action == notifier.Degrade, failure.Action == notifier.Repost:
		d.fail(ctx, entry, j, failure)
	case edit:
		who := store.EntryWaits
		if failure.Action == notifier.Wait {
			who = store.EditsWait
		}
		if failure.Action == notifier.StopToken {
			d.stopToken(ctx, failure)
		}
		d.wait(ctx, entry, failure, store.RetryPlan{Waits: who})
	case failure.Action == notifier.StopToken:
		d.stopToken(ctx, failure)
		d.wait(ctx, entry, failure, store.RetryPlan{})
	case failure.Doubt && (d.canLook() || d.givesUpUnknown(j)):
		d.settled(ctx, resultUnknown)
		d.retry(ctx, entry, store.RetryPlan{Reason: string(failure.Reason), Fault: failure.OwnFault, State: store.MaybePosted, Waits: store.EntryWaits}, failure.Answer)
	case failure.Doubt:
		d.settled(ctx, resultResent)
		d.wait(ctx, entry, failure, store.RetryPlan{})
	default:
		d.wait(ctx, entry, failure, store.RetryPlan{})
	}
}

// fail is the end of an entry that Slack refuses. An edit leaves no dead letter: its message is in Slack.
func (d *delivery) fail(ctx context.Context, entry store.Entry, j job, failure *notifier.Error) {
	if entry.Kind == store.KindEdit || entry.Kind == store.KindDigestEdit {
		d.drop(ctx, entry, failure.Error())
		return
	}
	d.bury(ctx, entry, j, failure)
}

func (d *delivery) ack(ctx context.Context, entry store.Entry, j job, receipt notifier.Receipt) {
	err := d.write(ctx, func(ctx context.Context) error {
		return d.opts.Outbox.Ack(ctx, d.channel.scope(), entry, store.Receipt(receipt))
	})
	if err != nil {
		d.settled(ctx, resultUnsettled)
		d.log.ErrorContext(ctx, "a posted message could not be settled; it may be posted twice", "number", entry.Number, "error", err)
		return
	}
	result := resultDelivered
	if j.edit != nil {
		result = resultEdited
	}
	d.settled(ctx, result)
	d.opts.Metrics.delivered(d.channel.Name, entry.Age)
	d.log.DebugContext(ctx, "message delivered", "number", entry.Number, "kind", entry.Kind, "age", entry.Age, "attempts", entry.Attempts+1)
}

// bury moves an entry to the dead letters. A slot whose message certainly never appeared is given back.
func (d *delivery) bury(ctx context.Context, entry store.Entry, j job, failure *notifier.Error) {
	death := store.DeadReason{Reason: string(failure.Reason), Answer: failure.Answer, MaybePosted: failure.Doubt}
	if d.channel.Fallback != nil && entry.Kind == string(store.KindMessage) && !failure.Doubt {
		fallback := d.channel.fallback().scope()
		death.CopyTo = &fallback
	}
	err := d.write(ctx, func(ctx context.Context) error {
		return d.opts.Outbox.Bury(ctx, d.channel.scope(), entry, death)
	})
	log := d.log.With("number", entry.Number, "kind", entry.Kind, "reason", failure.Reason, "answer", failure.Answer, "attempts", entry.Attempts+1)
	if err != nil {
		d.settled(ctx, resultRetried)
		log.ErrorContext(ctx, "a refused message could not be moved to the dead letters; it is tried again", "error", err)
		return
	}
	d.settled(ctx, resultFailed)
	log.ErrorContext(ctx, "message moved to the dead letters")
	if death.CopyTo != nil {
		d.Wake(death.CopyTo.Name)
	}
	if !failure.Doubt {
		d.refund(ctx, entry, j.events)
	}
	d.tell(ctx, fmt.Sprintf("dead:%s:%s:%s", d.channel.Name, failure.Reason, thisHour()),
		fmt.Sprintf("channel %s: Slack refuses messages for good (%s); they are in the dead letters", d.channel.Name, failure.Reason), failure.Answer)
}

// refund gives back the slot of a message that never appeared.
func (d *delivery) refund(ctx context.Context, entry store.Entry, all []events.Event) {
	if entry.Kind != string(store.KindMessage) || len(all) == 0 || d.opts.Limiter == nil || all[0].Forced {
		return // what was forced took none
	}
	levels := d.channel.levels(all[0])
	if entry.Age > longestOf(levels) {
		return // it has come back by itself
	}
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	request := store.Request{ID: dedupeID(all[0]), Category: all[0].Category, Levels: levels}
	if err := d.opts.Limiter.Refund(ctx, d.channel.scope(), request); err != nil {
		d.log.WarnContext(ctx, "the slot of a message that never appeared could not be given back", "number", entry.Number, "error", err)
	}
}

func longestOf(levels []ratelimit.Level) time.Duration {
	var per time.Duration
	for i := range levels {
		for _, w := range levels[i].Windows {
			per = max(per, w.Per)
		}
	}
	return per
}

// expire deletes a message that is too old to help anybody; the digest names it.
func (d *delivery) expire(ctx context.Context, entry store.Entry) {
	all, more, err := decodeEvents(entry.Payload)
	if err != nil {
		d.bury(ctx, entry, job{}, undecodable(err))
		return
	}
	ctx, span := d.continueTrace(ctx, "expire", time.Now(), entry, all)
	defer span.End()
	var counts map[string]int64
	if d.channel.Digest.Interval > 0 {
		counts = noted(all, more)
	}
	err = d.write(ctx, func(ctx context.Context) error {
		return d.opts.Outbox.Expire(ctx, d.channel.scope(), entry, counts)
	})
	if err != nil {
		d.log.ErrorContext(ctx, "a message that is too old could not be settled; it is tried again", "number", entry.Number, "error", err)
		return
	}
	d.settled(ctx, resultExpired)
	d.log.WarnContext(ctx, "message expired before Slack took it", "number", entry.Number, "age", entry.Age)
	d.refund(ctx, entry, all)
}

// drop ends an extra that has nothing to say.
func (d *delivery) drop(ctx context.Context, entry store.Entry, why string) {
	err := d.write(ctx, func(ctx context.Context) error { return d.opts.Outbox.Discard(ctx, d.channel.scope(), entry) })
	d.log.DebugContext(ctx, "edit not made", "number", entry.Number, "why", why, "error", err)
}

// wait lets an entry wait as a failure asks for.
func (d *delivery) wait(ctx context.Context, entry store.Entry, failure *notifier.Error, p store.RetryPlan) {
	p.Wait, p.Reason, p.Fault = waitAfter(failure, entry.Attempts), string(failure.Reason), failure.OwnFault
	d.settled(ctx, resultRetried)
	d.retry(ctx, entry, p, failure.Answer)
	if failure.Action != notifier.StopToken && (entry.Attempts+1 == tellAfter || p.Wait >= tellWait) {
		d.tell(ctx, fmt.Sprintf("paused:%s:%s:%s", d.channel.Name, failure.Reason, thisHour()),
			fmt.Sprintf("channel %s waits: %s; its messages are kept", d.channel.Name, failure.Reason), failure.Answer)
	}
}

// retry leaves an entry in its place.
func (d *delivery) retry(ctx context.Context, entry store.Entry, p store.RetryPlan, answer string) {
	err := d.write(ctx, func(ctx context.Context) error { return d.opts.Outbox.Retry(ctx, d.channel.scope(), entry, p) })
	log := d.log.With("number", entry.Number, "kind", entry.Kind, "reason", p.Reason, "answer", answer, "attempts", entry.Attempts+1, "wait", p.Wait)
	switch {
	case err != nil:
		log.ErrorContext(ctx, "message not posted, and that could not be written down; it is tried again", "error", err)
	case p.State == store.MaybePosted:
		log.WarnContext(ctx, "nobody knows whether a message was posted; it is looked up, or decided by its severity")
	case answer != "":
		log.WarnContext(ctx, "message not posted; it is tried again")
	}
}

// waitAfter is how long a channel pauses after a failure of a message that was tried attempts times before.
func waitAfter(failure *notifier.Error, attempts int64) time.Duration {
	switch failure.Action {
	case notifier.Wait:
		return failure.After
	case notifier.StopToken:
		return stopFor
	case notifier.Retry, notifier.GiveUp, notifier.Degrade, notifier.Repost:
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
		if errors.Is(err, store.ErrLeaseLost) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval, growing.MaxInterval = 50*time.Millisecond, time.Second
	_, err := backoff.Retry(ctx, once, backoff.WithBackOff(growing), backoff.WithMaxElapsedTime(d.opts.SettleFor))
	return err
}
