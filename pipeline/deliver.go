package pipeline

import (
	"context"
	"errors"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/outbox"
)

// deliver takes a claimed entry to Slack.
func (d *delivery) deliver(ctx context.Context, claim outbox.Claim) {
	entry := claim.Entry
	j, err := d.compose(ctx, entry)
	var unreachable outboxError
	switch {
	case errors.As(err, &unreachable):
		d.retry(ctx, entry, outbox.Pausing{Wait: d.poll(), Who: outbox.EntryWaits, Reason: "redis"}, unreachable.Error())
		return
	case err != nil:
		d.fail(ctx, entry, j, undecodable(err))
		return
	case j.nothing:
		d.drop(ctx, entry, "there is nothing to say any more")
		return
	case j.later > 0:
		d.retry(ctx, entry, outbox.Pausing{Wait: j.later, Who: outbox.EntryWaits, Reason: "not posted yet"}, "")
		return
	}
	if !entry.Doubt.IsZero() && !d.decideDoubt(ctx, &claim, j) {
		return
	}
	if !d.mayCall(ctx, entry, j) {
		return
	}
	receipt, err := d.say(ctx, claim, &j)
	switch {
	case errors.Is(err, errLeaseTooShort):
		d.log.WarnContext(ctx, "message not sent: the lease ends too soon; it is claimed again")
		d.retry(ctx, entry, outbox.Pausing{}, "")
	case err != nil:
		d.failed(ctx, entry, j, err)
	default:
		d.ack(ctx, entry, j, receipt)
	}
}

// mayCall takes the call that a job needs out of the workspace's budget; else the entry waits.
func (d *delivery) mayCall(ctx context.Context, entry outbox.Entry, j job) bool {
	method, who := outbox.MethodPost, outbox.ChannelWaits
	if j.edit != nil {
		method, who = outbox.MethodUpdate, outbox.EditsWait
	}
	wait := d.take(ctx, method)
	if wait > 0 {
		d.retry(ctx, entry, outbox.Pausing{Wait: wait, Who: who, Reason: d.refusal}, "")
		return false
	}
	d.spend(method)
	return true
}

// errLeaseTooShort is a send that was not started: the lease might have ended before Slack's answer.
var errLeaseTooShort = errors.New("the lease ends too soon to send")

// say posts or edits. What Slack refuses for how it is laid out is said once more as plain text, and an edit that
// must be told is posted where it is refused.
func (d *delivery) say(ctx context.Context, claim outbox.Claim, j *job) (notifier.Receipt, error) {
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
func (d *delivery) once(ctx context.Context, claim outbox.Claim, j *job) (notifier.Receipt, error) {
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	if time.Until(claim.Until) < d.opts.SendTimeout {
		return notifier.Receipt{}, errLeaseTooShort
	}
	start := time.Now()
	defer func() { d.opts.Metrics.answered(d.channel.Name, time.Since(start)) }()
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
func (d *delivery) decideDoubt(ctx context.Context, claim *outbox.Claim, j job) bool {
	if d.canLook() {
		found, done := d.lookUp(ctx, claim, j)
		switch {
		case !done:
			return false
		case found != nil:
			d.opts.Metrics.settled(d.channel.Name, resultFound)
			d.ack(ctx, claim.Entry, j, *found)
			return false
		case !d.canLook(): // it turned out that it cannot be looked up
		case claim.Entry.Looked == 0:
			d.retry(ctx, claim.Entry, outbox.Pausing{Fate: outbox.Looked, Who: outbox.EntryWaits}, "")
			return false
		default:
			d.retry(ctx, claim.Entry, outbox.Pausing{Fate: outbox.Again, Who: outbox.EntryWaits}, "")
			return false
		}
	}
	if d.givesUpUnknown(j.events) {
		d.bury(ctx, claim.Entry, j, &notifier.Error{
			Action: notifier.GiveUp, Reason: notifier.UnknownFate, Doubt: true, Answer: "it may have been posted; it is not sent again",
		})
		return false
	}
	d.opts.Metrics.settled(d.channel.Name, resultResent)
	d.log.WarnContext(ctx, "a message that may have been posted is sent again", "number", claim.Entry.Number)
	return true
}

// givesUpUnknown tells whether what may have been posted is not to be sent again, by the worst of its severities.
func (d *delivery) givesUpUnknown(all []events.Event) bool {
	for _, e := range all {
		if !d.channel.DropUnknown[e.Severity] {
			return false
		}
	}
	return len(all) > 0
}

// cannotLook are the refusals of a lookup that tell that this credential may not look here.
var cannotLook = map[notifier.Reason]bool{
	"missing_scope": true, "no_permission": true, "not_in_channel": true, "channel_not_found": true, "access_denied": true,
	"not_allowed_token_type": true, "method_deprecated": true, "team_access_not_granted": true, "ekm_access_denied": true,
}

// lookUp looks for a message in Slack, page by page. done is false where it could not be looked up now.
func (d *delivery) lookUp(ctx context.Context, claim *outbox.Claim, j job) (found *notifier.Receipt, done bool) {
	finder, _ := d.channel.Sender.(notifier.Finder)
	query := notifier.Query{Entry: j.message.Entry, Since: claim.Entry.Doubt, Thread: j.message.Thread}
	for {
		if wait := d.take(ctx, outbox.MethodHistory); wait > 0 {
			d.retry(ctx, claim.Entry, outbox.Pausing{Wait: wait, Who: outbox.ChannelWaits, Reason: d.refusal, Fate: outbox.Unknown}, "")
			return nil, false
		}
		d.spend(outbox.MethodHistory)
		page, err := d.page(ctx, claim, finder, query)
		if failure, ok := errors.AsType[*notifier.Error](err); ok && cannotLook[failure.Reason] {
			d.blind = true
			d.log.WarnContext(ctx, "slack does not let the relay look for messages: give the app channels:history and invite it",
				"reason", failure.Reason, "answer", failure.Answer)
			return nil, true
		}
		switch {
		case err != nil:
			d.notLooked(ctx, claim.Entry, err)
			return nil, false
		case page.Found:
			return &page.At, true
		case page.Cursor == "":
			return nil, true
		}
		query.Cursor = page.Cursor
	}
}

// page looks at one page, with a lease that outlasts it.
func (d *delivery) page(ctx context.Context, claim *outbox.Claim, finder notifier.Finder, query notifier.Query) (notifier.Page, error) {
	if time.Until(claim.Until) < 2*d.opts.SendTimeout {
		renewing, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
		until, err := d.opts.Outbox.Renew(renewing, d.channel.outbox())
		cancel()
		if err != nil {
			return notifier.Page{}, err
		}
		claim.Until = until
	}
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	return finder.Find(ctx, query)
}

// notLooked waits where Slack could not be asked.
func (d *delivery) notLooked(ctx context.Context, entry outbox.Entry, err error) {
	failure, ok := errors.AsType[*notifier.Error](err)
	if !ok {
		failure = &notifier.Error{Action: notifier.Retry, Reason: notifier.Network, Answer: err.Error()}
	}
	if failure.Action == notifier.StopToken {
		d.stopToken(ctx, failure)
	}
	d.retry(ctx, entry, outbox.Pausing{Wait: waitAfter(failure, entry.Attempts), Reason: string(failure.Reason), Fate: outbox.Unknown}, failure.Answer)
}
