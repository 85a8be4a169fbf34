package pipeline

import (
	"context"
	"errors"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// canLookUp reports whether a message of unknown delivery state can be looked up in Slack.
func (d *delivery) canLookUp() bool {
	finder, ok := d.channel.Sender.(notifier.Finder)
	return ok && d.opts.LookupDelay > 0 && time.Now().After(d.blindUntil) && finder.Findable()
}

// stateOf returns the delivery state of an entry that was claimed and not tried.
func stateOf(entry store.Entry) store.SendState {
	if entry.UnknownSince.IsZero() {
		return store.NotPosted
	}
	return store.MaybePosted
}

const (
	// maxLookups is how often an entry is claimed before lookups that fail count as refused.
	maxLookups = 20
	// blindFor is how long lookups are not tried again after Slack refused one: rights may be granted meanwhile.
	blindFor = 10 * time.Minute
)

// resolveUnknown decides about an entry that an earlier attempt may have posted. It returns nil where the entry is to be sent
// now.
func (d *delivery) resolveUnknown(ctx context.Context, claim *store.Claim, j *job) *transition {
	if d.canLookUp() {
		if t := d.lookUp(ctx, claim, j); t != nil {
			return t
		}
	}
	if d.dropsUnknown(j) {
		return &transition{action: buryEntry, failure: &notifier.Error{
			Action: notifier.GiveUp, Reason: notifier.UnknownSendState, MaybePosted: true, Answer: "it may have been posted; it is not sent again",
		}}
	}
	d.countAttempt(ctx, resultResent)
	d.log.WarnContext(ctx, "delivery state unknown; sending the message again", "number", claim.Entry.Number)
	return nil
}

// dropsUnknown reports whether a message that may have been posted is not sent again: none of its severities is.
func (d *delivery) dropsUnknown(j *job) bool {
	all := j.severities()
	for _, severity := range all {
		if !d.channel.DropUnknown[severity] {
			return false
		}
	}
	return len(all) > 0
}

// mayNotLook reports whether the answer to a lookup means that this credential cannot look here, and not that Slack or the
// network are at fault, or that the credential is refused everywhere.
func mayNotLook(failure *notifier.Error) bool {
	lacksRights := failure.Action == notifier.StopToken && !failure.CredentialRevoked()
	return failure.Final() || lacksRights || failure.OwnFault // OwnFault: an answer that nobody knows
}

// lookUp looks for a message in Slack, page by page. It returns nil where Slack does not allow that.
func (d *delivery) lookUp(ctx context.Context, claim *store.Claim, j *job) *transition {
	finder, _ := d.channel.Sender.(notifier.Finder)
	query := notifier.Query{Entry: j.message.Entry, Since: claim.Entry.UnknownSince, Thread: j.message.Thread}
	for {
		if wait := d.reserveCall(ctx, store.MethodHistory); wait > 0 {
			retry := store.RetryPlan{Wait: wait, Waits: store.ChannelWaits, Reason: d.refusal, State: store.MaybePosted}
			return &transition{action: retryEntry, retry: retry}
		}
		delete(d.reserved, store.MethodHistory)
		page, err := d.page(ctx, claim, finder, query)
		failure, answered := errors.AsType[*notifier.Error](err)
		_, unavailable := errors.AsType[outboxError](err)
		switch {
		case unavailable:
			return d.afterCompose(claim.Entry, err)
		case answered && (mayNotLook(failure) || claim.Entry.Attempts > maxLookups):
			d.blindUntil = time.Now().Add(blindFor)
			d.log.WarnContext(ctx, "lookup refused by slack; give the app channels:history and invite it to the channel",
				"reason", failure.Reason, "answer", failure.Answer)
			return nil
		case err != nil:
			return afterFailedLookup(claim.Entry, err)
		case page.Found:
			return &transition{action: ackEntry, results: []string{resultFound}, receipt: page.At}
		case page.Cursor == "":
			state := store.NotFound
			if claim.Entry.Lookups > 0 {
				state = store.SendAgain
			}
			return &transition{action: retryEntry, retry: store.RetryPlan{State: state, Waits: store.EntryWaits}}
		}
		query.Cursor = page.Cursor
	}
}

// page looks at one page of Slack's history, with a lease that outlasts the request.
func (d *delivery) page(ctx context.Context, claim *store.Claim, finder notifier.Finder, query notifier.Query) (notifier.Page, error) {
	if time.Until(claim.Until) < 2*d.opts.SendTimeout {
		renewing, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
		until, err := d.opts.Outbox.Renew(renewing, d.key)
		cancel()
		if err != nil {
			return notifier.Page{}, outboxError{err}
		}
		claim.Until = until
	}
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	return finder.Find(ctx, query)
}

// afterFailedLookup makes the channel wait where Slack could not be asked.
func afterFailedLookup(entry store.Entry, err error) *transition {
	t := waitFor(entry, failureOf(err))
	t.retry.State = store.MaybePosted
	return t
}
