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

// Action is what to do after a failed send.
type Action int

// The actions.
const (
	// Wait for After, then send again; Slack asked for it, nothing is wrong.
	Wait Action = iota + 1
	// Retry with growing waits; Slack or the network is at fault, and nothing else gets through either.
	Retry
	// GiveUp on this message; it can never be posted.
	GiveUp
	// Degrade: send it once more as plain text, else give up; Slack refuses how it is laid out.
	Degrade
	// StopToken until a person has replaced the credential; nothing gets through in any channel.
	StopToken
	// Repost says that an edit is refused: what it says must be posted instead.
	Repost
)

// String is the action's name in logs.
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

// Reason says why a send failed. It is one of the codes of the table in codes.go or of the reasons below:
// a closed set, fit for a metric's label.
type Reason string

// The reasons that are no codes of Slack's.
const (
	RateLimited      Reason = "rate_limited"
	SlackUnavailable Reason = "slack_unavailable" // 5xx
	Network          Reason = "network"           // no answer
	TimedOut         Reason = "timeout"           // no answer in time
	UnknownAnswer    Reason = "unknown_answer"    // an answer that nothing here knows
	Undecodable      Reason = "undecodable"       // the outbox held something that is no event
	UnknownFate      Reason = "unknown"           // nobody knows whether it was posted, and it is not tried again
)

// Error is a failed send. It carries the decision.
type Error struct {
	Action Action
	Reason Reason
	After  time.Duration // how long to wait; for Wait only
	// OwnFault says that the message itself may be at fault: after a few attempts, give it up.
	OwnFault bool
	// Doubt says that the message may have been posted all the same.
	Doubt bool
	// Answer is what Slack said, without secrets.
	Answer string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("slack: %s (%s): %s", e.Reason, e.Action, e.Answer)
}

// traced notes whether a request of ctx begins to go out: until then, it was certainly not carried out.
func traced(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := &atomic.Bool{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}), sent
}

// transportError is a send without an answer. What is said of it must not hold the URL, which may be a
// secret.
func transportError(err error, sent bool) *Error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	reason := Network
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		reason = TimedOut
	}
	return &Error{Action: Retry, Reason: reason, Doubt: sent, Answer: err.Error()}
}
