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

// lookup is the result of looking for a message.
type lookup int

const (
	lookupFound    lookup = iota
	lookupNotFound        // it is not in Slack, so far
	lookupLater           // Slack could not be asked now; the entry waits
	lookupRefused         // Slack does not allow the lookup
)

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
		switch result, t := d.lookUp(ctx, claim, j); result {
		case lookupFound, lookupLater:
			return t
		case lookupNotFound:
			state := store.NotFound
			if claim.Entry.Lookups > 0 {
				state = store.SendAgain
			}
			return &transition{action: retryEntry, retry: store.RetryPlan{State: state, Waits: store.EntryWaits}}
		case lookupRefused:
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

// mayNotLook tells whether the answer to a lookup means that this credential cannot look here, and not that Slack or the
// network are at fault, or that the credential is refused everywhere.
func mayNotLook(failure *notifier.Error) bool {
	switch failure.Action {
	case notifier.GiveUp, notifier.Degrade, notifier.Repost:
		return true
	case notifier.StopToken:
		return !failure.CredentialRevoked()
	case notifier.Wait, notifier.Retry:
	}
	return failure.OwnFault // an answer that nobody knows
}

// lookUp looks for a message in Slack, page by page. The transition is nil where the message was not found, or cannot be
// looked up.
func (d *delivery) lookUp(ctx context.Context, claim *store.Claim, j *job) (lookup, *transition) {
	finder, _ := d.channel.Sender.(notifier.Finder)
	query := notifier.Query{Entry: j.message.Entry, Since: claim.Entry.UnknownSince, Thread: j.message.Thread}
	for {
		if wait := d.reserveCall(ctx, store.MethodHistory); wait > 0 {
			retry := store.RetryPlan{Wait: wait, Waits: store.ChannelWaits, Reason: d.refusal, State: store.MaybePosted}
			return lookupLater, &transition{action: retryEntry, retry: retry}
		}
		delete(d.reserved, store.MethodHistory)
		page, err := d.page(ctx, claim, finder, query)
		failure, answered := errors.AsType[*notifier.Error](err)
		switch {
		case answered && (mayNotLook(failure) || claim.Entry.Attempts > maxLookups):
			d.blindUntil = time.Now().Add(blindFor)
			d.log.WarnContext(ctx, "lookup refused by slack; give the app channels:history and invite it to the channel",
				"reason", failure.Reason, "answer", failure.Answer)
			return lookupRefused, nil
		case err != nil:
			return lookupLater, afterFailedLookup(claim.Entry, err)
		case page.Found:
			return lookupFound, &transition{action: ackEntry, results: []string{resultFound}, receipt: page.At}
		case page.Cursor == "":
			return lookupNotFound, nil
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
			return notifier.Page{}, err
		}
		claim.Until = until
	}
	ctx, cancel := d.finishing(ctx, d.opts.SendTimeout)
	defer cancel()
	return finder.Find(ctx, query)
}

// afterFailedLookup makes the channel wait where Slack could not be asked.
func afterFailedLookup(entry store.Entry, err error) *transition {
	failure := failureOf(err)
	wait := store.RetryPlan{Wait: waitAfter(failure, entry.Attempts), Reason: string(failure.Reason), State: store.MaybePosted}
	return &transition{
		action: retryEntry, retry: wait, failure: failure, answer: failure.Answer, pauseCredential: advices[failure.Action].pauseCredential,
	}
}
