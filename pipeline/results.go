package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ack deletes an entry that is in Slack, and claims the next one with the same call.
func (d *delivery) ack(ctx context.Context, entry store.Entry, j *job, receipt notifier.Receipt) {
	err := d.ackClaim(ctx, entry, store.Receipt(receipt))
	if err != nil && !errors.Is(err, store.ErrLeaseLost) {
		err = d.store(ctx, func(ctx context.Context) error { return d.opts.Outbox.Ack(ctx, d.key, entry, store.Receipt(receipt)) })
	}
	if err != nil {
		d.countAttempt(ctx, resultUnsettled)
		d.log.ErrorContext(ctx, "posted message could not be acknowledged; it may be posted twice", "number", entry.Number, "error", err)
		return
	}
	d.opts.Destinations.delivered(ctx, d.channel.Name, d.channel.Sender)
	if j.edit == nil {
		d.track(ctx, j.events, DeliveryState{
			State: deliveryDelivered, SlackChannel: receipt.Channel, TS: receipt.TS, Attempts: entry.Attempts + 1,
		})
	}
	result := resultDelivered
	if j.edit != nil {
		result = resultEdited
	}
	d.countAttempt(ctx, result)
	d.recordFate(entry, j.events, fate{outcome: result, attempts: entry.Attempts + 1, receipt: receipt})
	d.opts.Metrics.delivery.WithLabelValues(d.opts.Metrics.channels.Of(d.channel.Name)).Observe(entry.Age.Seconds())
	d.log.DebugContext(ctx, "message delivered", "number", entry.Number, "kind", entry.Kind, "age", entry.Age, "attempts", entry.Attempts+1)
}

// errStopping is why nothing more is claimed.
var errStopping = errors.New("the courier stops")

// ackClaim acknowledges an entry, and claims the next one. After an error, the entry may be acknowledged or not.
func (d *delivery) ackClaim(ctx context.Context, entry store.Entry, receipt store.Receipt) error {
	if ctx.Err() != nil {
		return errStopping
	}
	d.wasWoken()
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	claim, err := d.opts.Outbox.AckClaim(ctx, d.key, store.Delivery{Entry: entry, Receipt: receipt}, d.currentTerms(), d.mustLook())
	if err != nil {
		return err
	}
	d.noteClaim(ctx, claim, nil)
	d.claimed = &claim
	return nil
}

// bury moves an entry to the dead letters. The slot of a message that certainly never appeared is given back.
func (d *delivery) bury(ctx context.Context, entry store.Entry, j *job, failure *notifier.Error) {
	reason := store.DeadReason{Reason: string(failure.Reason), Answer: failure.Answer, MaybePosted: failure.MaybePosted}
	if d.channel.Fallback != nil && entry.Kind == string(store.KindMessage) && !failure.MaybePosted {
		fallback := d.channel.fallback()
		queue := fallback.Scope()
		reason.CopyTo = &queue
	}
	err := d.store(ctx, func(ctx context.Context) error { return d.opts.Outbox.Bury(ctx, d.key, entry, reason) })
	log := d.log.With("number", entry.Number, "kind", entry.Kind, "reason", failure.Reason, "answer", failure.Answer,
		"attempts", entry.Attempts+1)
	if err != nil {
		d.countAttempt(ctx, resultRetried)
		log.ErrorContext(ctx, "refused message could not be moved to the dead letters; trying again", "error", err)
		return
	}
	d.countAttempt(ctx, resultFailed)
	d.recordFate(entry, j.events, fate{outcome: resultFailed, reason: string(failure.Reason), attempts: entry.Attempts + 1})
	log.ErrorContext(ctx, "message moved to the dead letters")
	d.track(ctx, j.events, DeliveryState{State: deliveryFailed, Attempts: entry.Attempts + 1}.explained(failure))
	if entry.Thread == 0 { // Slack may refuse a reply alone
		d.opts.Destinations.refused(ctx, d.channel.Name, d.channel.Sender, failure)
	}
	if reason.CopyTo != nil {
		d.Wake(reason.CopyTo.Name)
	}
	if !failure.MaybePosted {
		d.refund(ctx, entry, j.events)
	}
	d.notify(ctx, fmt.Sprintf("dead:%s:%s:%s", d.channel.Name, failure.Reason, thisHour()),
		fmt.Sprintf("channel %s: Slack refuses messages for good (%s); they are in the dead letters",
			d.channel.Name, failure.Reason), failure.Answer)
}

// refund gives back the slot of a message that never appeared.
func (d *delivery) refund(ctx context.Context, entry store.Entry, all []events.Event) {
	if entry.Kind != string(store.KindMessage) || len(all) == 0 || d.opts.Limiter == nil || all[0].Forced {
		return // a forced event used no slot
	}
	levels := d.channel.levels(&all[0])
	if entry.Age > longestOf(levels) {
		return // the slot is free again already
	}
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	request := store.Request{Request: ratelimit.Request{ID: dedupeID(&all[0]), Category: all[0].Category, Levels: levels}}
	if err := d.opts.Limiter.Refund(ctx, d.channel.Scope(), request); err != nil {
		d.log.WarnContext(ctx, "slot of a message that was never posted could not be given back", "number", entry.Number, "error", err)
		return
	}
	d.PromoteOthers(d.channel.Name)
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

// expire deletes a message that is too old to be useful; the next digest counts it.
func (d *delivery) expire(ctx context.Context, entry store.Entry) {
	all, more, err := decodeEvents(entry.Payload)
	if err != nil {
		d.bury(ctx, entry, &job{}, undecodable(err))
		return
	}
	ctx, span := d.continueTrace(ctx, "expire", time.Now(), entry, all)
	defer span.End()
	var counts map[string]int64
	if d.channel.Digest.Interval > 0 {
		counts = expiredCounts(all, more)
	}
	err = d.store(ctx, func(ctx context.Context) error { return d.opts.Outbox.Expire(ctx, d.key, entry, counts) })
	if err != nil {
		d.log.ErrorContext(ctx, "expired message could not be deleted; trying again", "number", entry.Number, "error", err)
		return
	}
	d.countAttempt(ctx, resultExpired)
	d.recordFate(entry, all, fate{outcome: resultExpired, attempts: entry.Attempts})
	d.track(ctx, all, DeliveryState{State: deliveryExpired, Attempts: entry.Attempts, Message: "it waited for longer than its ttl"})
	d.log.WarnContext(ctx, "message expired before it was posted", "number", entry.Number, "age", entry.Age)
	d.refund(ctx, entry, all)
}

// discard deletes an extra that has nothing to post.
func (d *delivery) discard(ctx context.Context, entry store.Entry, why string) {
	err := d.store(ctx, func(ctx context.Context) error { return d.opts.Outbox.Discard(ctx, d.key, entry) })
	d.log.DebugContext(ctx, "edit not made", "number", entry.Number, "why", why, "error", err)
}

// retry leaves an entry in its place.
func (d *delivery) retry(ctx context.Context, entry store.Entry, j *job, t *transition) {
	err := d.store(ctx, func(ctx context.Context) error { return d.opts.Outbox.Retry(ctx, d.key, entry, t.retry) })
	d.leased = err != nil // a retry ends the lease
	waiting := DeliveryState{
		State: deliveryWaiting, Reason: t.retry.Reason, Answer: t.answer, Attempts: entry.Attempts, Wait: secondsOf(t.retry.Wait),
	}
	d.track(ctx, j.events, waiting.explained(t.failure))
	log := d.log.With("number", entry.Number, "kind", entry.Kind, "reason", t.retry.Reason, "answer", t.answer,
		"attempts", entry.Attempts+1, "wait", t.retry.Wait)
	switch {
	case err != nil:
		log.ErrorContext(ctx, "message not posted, and its retry could not be stored; trying again", "error", err)
	case t.retry.State == store.MaybePosted:
		log.WarnContext(ctx, "delivery state unknown; looking the message up, or deciding by its severity")
	case t.pauseCredential && d.opts.Destinations != nil:
		log.DebugContext(ctx, "message not posted; trying again") // the token is logged once, for all channels
	case t.answer != "":
		log.WarnContext(ctx, "message not posted; trying again")
	}
	if t.notify {
		d.notify(ctx, fmt.Sprintf("paused:%s:%s:%s", d.channel.Name, t.failure.Reason, thisHour()),
			fmt.Sprintf("channel %s waits: %s; its messages are kept", d.channel.Name, t.failure.Reason), t.failure.Answer)
	}
}

// countAttempt counts the result of an attempt, and adds it to its trace.
func (d *delivery) countAttempt(ctx context.Context, result string) {
	d.opts.Metrics.messages.WithLabelValues(d.opts.Metrics.channels.Of(d.channel.Name), result).Inc()
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.String("relay.result", result))
	switch result {
	case resultFailed, resultRetried, resultUnsettled, resultExpired, resultUnknown:
		span.SetStatus(codes.Error, result)
	}
}

// store repeats a call of the outbox until it succeeds, another sender has the lease, or StoreTimeout passes: a message that
// is in Slack must not be sent again because Redis is unavailable for a moment.
func (d *delivery) store(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := d.finishing(ctx, d.opts.StoreTimeout)
	defer cancel()
	once := func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
		defer cancel()
		err := call(ctx)
		if errors.Is(err, store.ErrLeaseLost) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval = 50 * time.Millisecond
	growing.MaxInterval = time.Second
	_, err := backoff.Retry(ctx, once, backoff.WithBackOff(growing), backoff.WithMaxElapsedTime(d.opts.StoreTimeout))
	return err
}
