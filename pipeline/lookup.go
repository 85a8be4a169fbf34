package pipeline

import (
	"context"
	"errors"
	"time"

	"slackrelay/notifier"
	"slackrelay/store"
)

// fateOf is what is known of an entry that was claimed and not tried.
func fateOf(entry store.Entry) store.SendState {
	if entry.UnknownSince.IsZero() {
		return store.NotPosted
	}
	return store.MaybePosted
}

// looked is the outcome of looking for a message.
type looked int

const (
	lookedFound    looked = iota
	lookedNotFound        // it is not in Slack, so far
	lookedLater           // Slack could not be asked now; the entry waits
	lookedInVain          // Slack does not let us look
)

const (
	// maxLookups is how often an entry is claimed until Slack counts as unable to say where it is.
	maxLookups = 20
	// blindFor is for how long Slack is not asked again that did not let us look: rights may be given meanwhile.
	blindFor = 10 * time.Minute
)

// mayNotLook tells whether the answer to a lookup means that this credential cannot look here, and not that Slack or the
// network are at fault, or that the credential is refused everywhere.
func mayNotLook(failure *notifier.Error) bool {
	switch failure.Action {
	case notifier.GiveUp, notifier.Degrade, notifier.Repost:
		return true
	case notifier.StopToken:
		return !refusedEverywhere[failure.Reason]
	case notifier.Wait, notifier.Retry:
	}
	return failure.OwnFault // an answer that nobody knows
}

// refusedEverywhere are the refusals that concern more than the right to look.
var refusedEverywhere = map[notifier.Reason]bool{
	"invalid_auth": true, "not_authed": true, "token_revoked": true, "token_expired": true, "account_inactive": true,
}

// lookUp looks for a message in Slack, page by page.
func (d *delivery) lookUp(ctx context.Context, claim *store.Claim, j job) (at notifier.Receipt, seen looked) {
	finder, _ := d.channel.Sender.(notifier.Finder)
	query := notifier.Query{Entry: j.message.Entry, Since: claim.Entry.UnknownSince, Thread: j.message.Thread}
	for {
		if wait := d.take(ctx, store.MethodHistory); wait > 0 {
			d.retry(ctx, claim.Entry, store.RetryPlan{Wait: wait, Waits: store.ChannelWaits, Reason: d.refusal, State: store.MaybePosted}, "")
			return at, lookedLater
		}
		d.spend(store.MethodHistory)
		page, err := d.page(ctx, claim, finder, query)
		failure, refused := errors.AsType[*notifier.Error](err)
		switch {
		case refused && (mayNotLook(failure) || claim.Entry.Attempts > maxLookups):
			d.blindUntil = time.Now().Add(blindFor)
			d.log.WarnContext(ctx, "slack does not let the relay look for messages: give the app channels:history and invite it",
				"reason", failure.Reason, "answer", failure.Answer)
			return at, lookedInVain
		case err != nil:
			d.notLooked(ctx, claim.Entry, err)
			return at, lookedLater
		case page.Found:
			return page.At, lookedFound
		case page.Cursor == "":
			return at, lookedNotFound
		}
		query.Cursor = page.Cursor
	}
}

// page looks at one page, with a lease that outlasts it.
func (d *delivery) page(ctx context.Context, claim *store.Claim, finder notifier.Finder, query notifier.Query) (notifier.Page, error) {
	if time.Until(claim.Until) < 2*d.opts.SendTimeout {
		renewing, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
		until, err := d.opts.Outbox.Renew(renewing, d.channel.scope())
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
func (d *delivery) notLooked(ctx context.Context, entry store.Entry, err error) {
	failure, ok := errors.AsType[*notifier.Error](err)
	if !ok {
		failure = &notifier.Error{Action: notifier.Retry, Reason: notifier.Network, Answer: err.Error()}
	}
	if failure.Action == notifier.StopToken {
		d.stopToken(ctx, failure)
	}
	d.retry(ctx, entry, store.RetryPlan{Wait: waitAfter(failure, entry.Attempts), Reason: string(failure.Reason), State: store.MaybePosted}, failure.Answer)
}
