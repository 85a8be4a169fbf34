package notifier

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Action is the next step after a failed request.
type Action int

// Actions.
const (
	// Wait for After, then send again: Slack limits the rate.
	Wait Action = iota + 1
	// Retry with growing delays: Slack or the network is at fault, and no other message gets through either.
	Retry
	// GiveUp on this message: it can never be posted.
	GiveUp
	// Degrade to plain text and send again, else give up: Slack refuses the layout.
	Degrade
	// StopToken until somebody has replaced the credential: no channel that uses it gets through.
	StopToken
	// Repost the content of an edit as a new message: Slack refuses the edit.
	Repost
)

// String returns the action's name for logs.
func (a Action) String() string {
	names := map[Action]string{
		Wait: "wait", Retry: "retry", GiveUp: "give up", Degrade: "degrade to plain text",
		StopToken: "stop token", Repost: "post instead",
	}
	if name, ok := names[a]; ok {
		return name
	}
	return "unknown"
}

// Reason is why a request to Slack failed: one of Slack's codes from the table in codes.go, or one of the reasons below.
// It is a closed set, so that it can be the label of a metric.
type Reason string

// Reasons of the relay's own, beside Slack's codes.
const (
	RateLimited      Reason = "rate_limited"
	SlackUnavailable Reason = "slack_unavailable" // 5xx
	Network          Reason = "network"           // no answer
	TimedOut         Reason = "timeout"           // no answer in time
	UnknownAnswer    Reason = "unknown_answer"    // an answer that is not in the table
	Undecodable      Reason = "undecodable"       // the outbox entry is not a valid event
	UnknownSendState Reason = "unknown"           // it may have been posted, and is not sent again

	// CannotUpdate is Slack's code for a message that cannot be edited, and the reason of a destination without edits.
	CannotUpdate Reason = "cant_update_message"
)

// Error is a failed request with the decision what to do next.
type Error struct {
	Action Action
	Reason Reason
	After  time.Duration // how long to wait; only for Wait
	// OwnFault is whether the message itself may be the cause: give it up after a few attempts.
	OwnFault bool
	// MaybePosted is whether the message may have been posted despite the error.
	MaybePosted bool
	// Answer is the text of Slack's answer, without secrets.
	Answer string
}

// Final reports whether no repeat of the request can succeed.
func (e *Error) Final() bool { return e.Action == GiveUp || e.Action == Degrade || e.Action == Repost }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("slack: %s (%s): %s", e.Reason, e.Action, e.Answer)
}

// traceSent returns a context whose requests set sent once they begin to go out. Before that, Slack cannot have acted on them.
func traceSent(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := &atomic.Bool{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}), sent
}

// transportError returns the error for a request without an answer. Its text leaves out the URL, which may be a secret.
func transportError(err error, sent bool) *Error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	reason := Network
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		reason = TimedOut
	}
	return &Error{Action: Retry, Reason: reason, MaybePosted: sent, Answer: err.Error()}
}
