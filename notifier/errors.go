package notifier

import (
	"errors"
	"fmt"
	"net"
	"net/url"
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
	// StopChannel until a person has mended the credential; no message would get through.
	StopChannel
)

// String is the action's name in logs.
func (a Action) String() string {
	switch a {
	case Wait:
		return "wait"
	case Retry:
		return "retry"
	case GiveUp:
		return "give up"
	case StopChannel:
		return "stop channel"
	default:
		return "unknown"
	}
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
)

// Error is a failed send. It carries the decision.
type Error struct {
	Action Action
	Reason Reason
	After  time.Duration // how long to wait; for Wait only
	// OwnFault says that the message itself may be at fault: after a few attempts, give it up.
	OwnFault bool
	// Answer is what Slack said, without secrets.
	Answer string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("slack: %s (%s): %s", e.Reason, e.Action, e.Answer)
}

// transportError is a send without an answer. What is said of it must not hold the URL, which may be a
// secret.
func transportError(err error) *Error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	reason := Network
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		reason = TimedOut
	}
	return &Error{Action: Retry, Reason: reason, Answer: err.Error()}
}
