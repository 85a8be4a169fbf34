package pipeline

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"slackrelay/notifier"
	"slackrelay/store"
)

// deliver takes a claimed entry to Slack.
func (d *delivery) deliver(ctx context.Context, claim store.Claim) {
	entry, began := claim.Entry, time.Now()
	j, err := d.compose(ctx, entry)
	ctx, span := d.continueTrace(ctx, "deliver", began, entry, j.events)
	defer span.End()
	var unreachable outboxError
	switch {
	case errors.As(err, &unreachable):
		d.retry(ctx, entry, store.RetryPlan{Wait: d.poll(), Waits: store.EntryWaits, Reason: "redis", State: fateOf(entry)}, unreachable.Error())
		return
	case err != nil:
		d.fail(ctx, entry, j, undecodable(err))
		return
	case j.nothing:
		d.drop(ctx, entry, "there is nothing to say any more")
		return
	case j.later > 0:
		d.retry(ctx, entry, store.RetryPlan{Wait: j.later, Waits: store.EntryWaits, Reason: "not posted yet"}, "")
		return
	}
	if !entry.UnknownSince.IsZero() && !d.decideDoubt(ctx, &claim, j) {
		return
	}
	if !d.mayCall(ctx, entry, j) {
		return
	}
	receipt, err := d.say(ctx, claim, &j)
	switch {
	case errors.Is(err, errLeaseTooShort):
		d.log.WarnContext(ctx, "message not sent: the lease ends too soon; it is claimed again")
		d.retry(ctx, entry, store.RetryPlan{}, "")
	case err != nil:
		d.failed(ctx, entry, j, err)
	default:
		d.ack(ctx, entry, j, receipt)
	}
}

// mayCall takes the call that a job needs out of the workspace's budget; else the entry waits.
func (d *delivery) mayCall(ctx context.Context, entry store.Entry, j job) bool {
	method, who := store.MethodPost, store.ChannelWaits
	if j.edit != nil {
		method, who = store.MethodUpdate, store.EditsWait
	}
	wait := d.take(ctx, method)
	if wait > 0 {
		d.retry(ctx, entry, store.RetryPlan{Wait: wait, Waits: who, Reason: d.refusal}, "")
		return false
	}
	d.spend(method)
	return true
}

// errLeaseTooShort is a send that was not started: the lease might have ended before Slack's answer.
var errLeaseTooShort = errors.New("the lease ends too soon to send")

// say posts or edits. What Slack refuses for how it is laid out is said once more as plain text, and an edit that
// must be told is posted where it is refused.
func (d *delivery) say(ctx context.Context, claim store.Claim, j *job) (notifier.Receipt, error) {
	receipt, err := d.once(ctx, claim, j)
	failure, ok := errors.AsType[*notifier.Error](err)
	if ok && failure.Action == notifier.Repost && j.over {
		if failure.Reason != "message_not_found" && len(j.events) > 0 {
			j.message.Thread = j.edit.TS
		}
		j.edit = nil
		receipt, err = d.once(ctx, claim, j)
		failure, ok = errors.AsType[*notifier.Error](err)
	}
	if ok && failure.Action == notifier.Degrade {
		d.log.WarnContext(ctx, "slack refuses how a message is laid out; it is said as plain text", "number", claim.Entry.Number,
			"reason", failure.Reason, "answer", failure.Answer)
		j.message = j.message.PlainText()
		receipt, err = d.once(ctx, claim, j)
	}
	return receipt, err
}

// once makes one request, unless another sender might take over meanwhile. It ends on its own although the
// Courier is told to stop: a request that is cut leaves open whether the message was posted.
func (d *delivery) once(ctx context.Context, claim store.Claim, j *job) (notifier.Receipt, error) {
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	if time.Until(claim.Until) < d.opts.SendTimeout {
		return notifier.Receipt{}, errLeaseTooShort
	}
	return d.call(ctx, j)
}

// call asks Slack.
func (d *delivery) call(ctx context.Context, j *job) (receipt notifier.Receipt, err error) {
	name := "slack post"
	if j.edit != nil {
		name = "slack edit"
	}
	ctx, span := beginSpan(ctx, d.opts.Tracer, name, trace.WithSpanKind(trace.SpanKindClient))
	start := time.Now()
	defer func() {
		d.opts.Metrics.answered(d.channel.Name, time.Since(start))
		sayAnswer(span, receipt, err)
		span.End()
	}()
	if j.edit == nil {
		return d.channel.Sender.Send(ctx, j.message)
	}
	editor, ok := d.channel.Sender.(notifier.Editor)
	if !ok {
		return notifier.Receipt{}, &notifier.Error{Action: notifier.Repost, Reason: "cant_update_message", Answer: "this destination edits nothing"}
	}
	return *j.edit, editor.Edit(ctx, *j.edit, j.message)
}

// decideDoubt decides what becomes of an entry that may have been posted by an attempt before. It answers true
// where it is to be sent now.
func (d *delivery) decideDoubt(ctx context.Context, claim *store.Claim, j job) bool {
	if d.canLook() {
		switch at, seen := d.lookUp(ctx, claim, j); seen {
		case lookedLater:
			return false
		case lookedFound:
			d.settled(ctx, resultFound)
			d.ack(ctx, claim.Entry, j, at)
			return false
		case lookedNotFound:
			fate := store.NotFound
			if claim.Entry.Lookups > 0 {
				fate = store.SendAgain
			}
			d.retry(ctx, claim.Entry, store.RetryPlan{State: fate, Waits: store.EntryWaits}, "")
			return false
		case lookedInVain:
		}
	}
	if d.givesUpUnknown(j) {
		d.bury(ctx, claim.Entry, j, &notifier.Error{
			Action: notifier.GiveUp, Reason: notifier.UnknownFate, Doubt: true, Answer: "it may have been posted; it is not sent again",
		})
		return false
	}
	d.settled(ctx, resultResent)
	d.log.WarnContext(ctx, "a message that may have been posted is sent again", "number", claim.Entry.Number)
	return true
}

// givesUpUnknown tells whether what may have been posted is not to be sent again, by the worst of its severities.
func (d *delivery) givesUpUnknown(j job) bool {
	all := j.severities()
	for _, severity := range all {
		if !d.channel.DropUnknown[severity] {
			return false
		}
	}
	return len(all) > 0
}
