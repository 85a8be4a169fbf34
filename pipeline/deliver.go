package pipeline

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/notifier"
	"slackrelay/store"
)

// deliver takes a claimed entry to Slack. Each step either ends the attempt with a transition, or leaves it to the next.
func (d *delivery) deliver(ctx context.Context, claim *store.Claim) {
	began := time.Now()
	j, err := d.compose(ctx, claim.Entry)
	ctx, span := d.continueTrace(ctx, "deliver", began, claim.Entry, j.events)
	defer span.End()
	var t *transition
	if err != nil {
		t = d.afterCompose(claim.Entry, err)
	}
	if t == nil && !claim.Entry.UnknownSince.IsZero() {
		t = d.resolveUnknown(ctx, claim, &j)
	}
	if t == nil {
		t = d.spendCall(ctx, &j)
	}
	if t == nil {
		reserved := d.reserveNext(ctx, claim)
		t = d.send(ctx, claim, &j)
		reserved()
	}
	d.apply(ctx, claim.Entry, &j, t)
}

// afterCompose returns what follows where there is no job to send, or the outbox failed.
func (d *delivery) afterCompose(entry store.Entry, err error) *transition {
	var unavailable outboxError
	switch {
	case errors.As(err, &unavailable):
		wait := store.RetryPlan{Wait: d.poll(), Waits: store.EntryWaits, Reason: "redis", State: stateOf(entry)}
		return &transition{action: retryEntry, retry: wait, answer: err.Error()}
	case errors.Is(err, errNothingToPost):
		return &transition{action: discardEntry, answer: err.Error()}
	case errors.Is(err, errNotPosted):
		return &transition{action: retryEntry, retry: store.RetryPlan{Wait: editDelay, Waits: store.EntryWaits, Reason: err.Error()}}
	default:
		return refused(entry, undecodable(err))
	}
}

// spendCall uses up the call that a job needs; where the workspace's budget allows none, the attempt ends.
func (d *delivery) spendCall(ctx context.Context, j *job) *transition {
	method, who := store.MethodPost, store.ChannelWaits
	if j.edit != nil {
		method, who = store.MethodUpdate, store.EditsWait
	}
	if wait := d.reserveCall(ctx, method); wait > 0 {
		return &transition{action: retryEntry, retry: store.RetryPlan{Wait: wait, Waits: who, Reason: d.refusal}}
	}
	delete(d.reserved, method)
	return nil
}

// errLeaseTooShort is a send that was not started: the lease might end before Slack answers.
var errLeaseTooShort = errors.New("the lease ends too soon to send")

// send posts or edits, and returns what follows from Slack's answer. A message whose layout Slack refuses is sent once more
// without its pictures if it has any, and then as plain text; and an edit that must be shown is posted where Slack refuses it.
func (d *delivery) send(ctx context.Context, claim *store.Claim, j *job) *transition {
	receipt, err := d.once(ctx, claim, j)
	failure, ok := errors.AsType[*notifier.Error](err)
	if ok && failure.Action == notifier.Repost && j.over {
		if !failure.MessageGone() && len(j.events) > 0 {
			j.message.Thread = j.edit.TS
		}
		j.edit = nil
		receipt, err = d.once(ctx, claim, j)
		failure, ok = errors.AsType[*notifier.Error](err)
	}
	for _, simpler := range j.message.Simpler() {
		if !ok || failure.Action != notifier.Degrade {
			break
		}
		d.log.WarnContext(ctx, "layout refused by slack; sending a simpler one", "number", claim.Entry.Number,
			"reason", failure.Reason, "answer", failure.Answer)
		j.message = simpler
		receipt, err = d.once(ctx, claim, j)
		failure, ok = errors.AsType[*notifier.Error](err)
	}
	switch {
	case errors.Is(err, errLeaseTooShort):
		d.log.WarnContext(ctx, "message not sent: the lease ends too soon; it is claimed again")
		return &transition{action: retryEntry}
	case err != nil:
		return d.afterFailure(claim.Entry, j, err)
	default:
		return &transition{action: ackEntry, receipt: receipt}
	}
}

// once makes one request to Slack, unless another sender might take over meanwhile. The request is finished although the
// Courier is stopped: one that is cut leaves open whether the message was posted.
func (d *delivery) once(ctx context.Context, claim *store.Claim, j *job) (receipt notifier.Receipt, err error) {
	if time.Until(claim.Until) < d.opts.SendTimeout {
		return notifier.Receipt{}, errLeaseTooShort
	}
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	name := "slack post"
	if j.edit != nil {
		name = "slack edit"
	}
	ctx, span := beginSpan(ctx, d.opts.Tracer, name, trace.WithSpanKind(trace.SpanKindClient))
	start := time.Now()
	defer func() {
		d.opts.Metrics.requests.WithLabelValues(d.opts.Metrics.channels.Of(d.channel.Name)).Observe(time.Since(start).Seconds())
		traceAnswer(span, receipt, err)
		span.End()
	}()
	if j.edit == nil {
		return d.channel.Sender.Send(ctx, j.message)
	}
	editor, ok := d.channel.Sender.(notifier.Editor)
	if !ok {
		return notifier.Receipt{}, &notifier.Error{
			Action: notifier.Repost, Reason: notifier.CannotUpdate, Answer: "this destination edits nothing",
		}
	}
	return *j.edit, editor.Edit(ctx, *j.edit, j.message)
}
