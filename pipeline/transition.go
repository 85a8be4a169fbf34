package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"slackrelay/notifier"
	"slackrelay/store"
)

const (
	// maxFaults is how many attempts a message that may itself be at fault gets before it is buried.
	maxFaults = 3
	// pauseFor is how long a refused credential is paused before one message tries it again, so that nobody needs to resume
	// the channel when the credential is fixed.
	pauseFor = time.Minute
	// maxBackoff bounds the wait after a fault of Slack or the network.
	maxBackoff = time.Minute
	// notifyAttempts and notifyWait are the number of attempts, and the length of a wait, at which the operators are notified
	// that a channel waits.
	notifyAttempts = 6
	notifyWait     = 2 * time.Minute
)

// action is the call of the outbox that ends an attempt.
type action int

const (
	ackEntry     action = iota // it is in Slack
	buryEntry                  // it can never be posted: to the dead letters
	discardEntry               // it is an extra that has nothing to post
	retryEntry                 // it stays in its place, and it or its channel waits
)

// transition is how an attempt to deliver an entry ends.
type transition struct {
	action          action
	results         []string         // counted in relay_messages_total before the action, which counts its own
	receipt         notifier.Receipt // ackEntry: where the message is in Slack
	failure         *notifier.Error  // buryEntry and a failed attempt: what Slack answered
	retry           store.RetryPlan  // retryEntry
	answer          string           // for the log, where a retry or a discard follows from a failure; "" = nothing to log
	pauseCredential bool             // no channel may use the credential for a while
	notify          bool             // the operators are notified that the channel waits
}

// failureOf returns the failure of a request to Slack.
func failureOf(err error) *notifier.Error {
	if failure, ok := errors.AsType[*notifier.Error](err); ok {
		return failure
	}
	return &notifier.Error{Action: notifier.Retry, Reason: notifier.Network, MaybePosted: true, Answer: err.Error()}
}

// afterFailure returns what follows from a failed request. The first row that applies decides:
//
//	failure                                  entry    what follows
//	final, or its own fault the third time   edit     discard: the message that it edits is in Slack
//	                                         other    bury
//	any                                      edit     retry; it waits, or all edits of the channel where Slack asked for that
//	refused credential                       other    retry; the channel waits, and the credential is paused
//	unknown whether posted, and a lookup or  other    retry; the next claim resolves the unknown state
//	  the severity can decide
//	unknown whether posted                   other    retry; the channel waits, and then sends the message again
//	any                                      other    retry; the channel waits
func (d *delivery) afterFailure(entry store.Entry, j *job, err error) *transition {
	failure := failureOf(err)
	if failure.Final() || failure.OwnFault && entry.Faults+1 >= maxFaults {
		return refused(entry, failure)
	}
	t := waitFor(entry, failure)
	t.results = []string{resultRetried}
	t.retry.Fault = failure.OwnFault
	t.notify = !t.pauseCredential && (entry.Attempts+1 == notifyAttempts || t.retry.Wait >= notifyWait)
	switch {
	case j.edit != nil && failure.Action == notifier.Wait:
		t.retry.Waits = store.EditsWait
	case j.edit != nil:
		t.retry.Waits = store.EntryWaits
	case t.pauseCredential || !failure.MaybePosted:
	case d.canLookUp() || d.dropsUnknown(j):
		t.results = []string{resultUnknown}
		t.retry.Wait = 0
		t.retry.Waits = store.EntryWaits
		t.retry.State = store.MaybePosted
		t.notify = false
	default:
		t.results = []string{resultResent, resultRetried}
	}
	return t
}

// refused ends an entry that can never be posted. An edit leaves no dead letter: its message is in Slack.
func refused(entry store.Entry, failure *notifier.Error) *transition {
	if entry.Kind == store.KindEdit || entry.Kind == store.KindDigestEdit {
		return &transition{action: discardEntry, failure: failure, answer: failure.Error()}
	}
	return &transition{action: buryEntry, failure: failure}
}

// apply carries a transition out.
func (d *delivery) apply(ctx context.Context, entry store.Entry, j *job, t *transition) {
	for _, result := range t.results {
		d.countAttempt(ctx, result)
	}
	if t.pauseCredential {
		d.pauseCredential(ctx, t.failure)
	}
	switch t.action {
	case ackEntry:
		d.ack(ctx, entry, j, t.receipt)
	case buryEntry:
		d.bury(ctx, entry, j, t.failure)
	case discardEntry:
		d.discard(ctx, entry, t.answer)
	case retryEntry:
		d.retry(ctx, entry, j, t)
	}
}

// waitFor makes the channel wait after a failed request, and pauses the credential that was refused.
func waitFor(entry store.Entry, failure *notifier.Error) *transition {
	return &transition{
		action: retryEntry, failure: failure, answer: failure.Answer, pauseCredential: failure.Action == notifier.StopToken,
		retry: store.RetryPlan{Wait: waitAfter(failure, entry.Attempts), Reason: string(failure.Reason)},
	}
}

// waitAfter returns how long a channel waits after a failure of a message that was tried attempts times before.
func waitAfter(failure *notifier.Error, attempts int64) time.Duration {
	if failure.Action == notifier.Wait {
		return failure.After
	}
	if failure.Action == notifier.StopToken {
		return pauseFor
	}
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval = 500 * time.Millisecond
	growing.MaxInterval = maxBackoff
	growing.Multiplier = 2
	wait := growing.NextBackOff()
	for range min(attempts, 16) { // by then the maximum is reached
		wait = growing.NextBackOff()
	}
	return wait
}
