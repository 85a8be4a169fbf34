// Package simulation plays traces of events against the settings of a channel, on a clock of its own, and counts what Slack
// would have shown.
//
// A simulation is the relay itself: the intake and the courier of package pipeline, on the store in memory, which decides as
// the one on Redis does. Only the clock and Slack are simulated: time jumps from one event to the next thing that is due, and
// Slack accepts every message at once. So what waits drains at the channel's pace, what is delayed is promoted when it fits,
// and digests, resolves, repeats and bundles are posted or edited as relay serve would. A missing heartbeat is posted, too.
// Rules and silences are not applied: a trace contains what they let through. Redis is never away, and no call of Slack is
// refused.
package simulation

import (
	"context"
	"fmt"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

// Event is one event of a trace, with the fields that decide what happens to it.
type Event struct {
	At          time.Duration // since the beginning of the trace
	ID          string        // "" = it is not a duplicate of another
	Category    string        // normalised
	Sender      string
	Severity    events.Severity
	Status      events.Status
	Fingerprint string // "" = none: no other event is about the same alert
	Labels      map[string]string
	// Webhook is the same for events that follow each other and arrive in one webhook; "" = a webhook of its own.
	Webhook string
	Group   string // the sender's name of the group that the webhook reports; "" = none
}

// isCritical reports whether the event begins an alert that is critical.
func (e *Event) isCritical() bool {
	return e.Severity == events.Critical && e.Status != events.Resolved
}

// Trace are events in the order of their times.
type Trace []Event

// webhook returns how many events from the i-th on arrive in one webhook with it.
func (t Trace) webhook(i int) int {
	n := 1
	if t[i].Webhook == "" {
		return n
	}
	for i+n < len(t) && t[i+n].Webhook == t[i].Webhook {
		n++
	}
	return n
}

// Length is the time of the last event.
func (t Trace) Length() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1].At
}

// Setting is a configuration to play a trace against.
type Setting struct {
	Name    string
	Channel pipeline.Channel // its sender is not used
	// Inhibitions mute events while others fire.
	Inhibitions []*problem.CompiledInhibition
	// Heartbeats of the channel mute the events that match them, and an event that one is missing is played. A heartbeat is
	// expected from the first event on that matches, up to the end of the trace. Others are not played.
	Heartbeats []pipeline.Heartbeat
	// Lasting is how long an alert must fire to be counted as a problem; the channel's hold if that is longer.
	Lasting time.Duration
	// Edits is whether the destination can edit messages, as a bot can and an incoming webhook cannot.
	Edits bool
	// Multi decides with package multi, the limiter without scripts, which supports fixed-window (the default then) and
	// per-second. It plays the limits alone: what they admit is posted at once. False plays what relay serve does.
	Multi bool

	slack notifier.Sender // nil = one that accepts everything
}

// Start is the beginning of every trace on the clock of the store: windows that are aligned to hours depend on it.
var Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// progressEvery is the number of events between calls of progress.
const progressEvery = 4096

// Play plays a trace against a setting. It calls progress every few thousand events and at the end, with the number of events
// played so far.
func Play(ctx context.Context, trace Trace, setting Setting, progress func(played int)) (Result, error) {
	t := newTally(&setting, trace)
	var p player = newRelay(&setting, t)
	if setting.Multi {
		p = newLimits(&setting, t)
	}
	for i, reported := 0, 0; i < len(trace); {
		n := trace.webhook(i)
		if i >= reported {
			progress(i)
			reported = i + progressEvery
		}
		err := ctx.Err()
		if err == nil {
			err = p.admit(ctx, trace[i:i+n], i)
		}
		if err != nil {
			return Result{}, fmt.Errorf("play %s: %w", setting.Name, err)
		}
		i += n
	}
	if err := p.finish(ctx); err != nil {
		return Result{}, fmt.Errorf("play %s: %w", setting.Name, err)
	}
	progress(len(trace))
	return t.result(), nil
}

// player plays a trace. It reports to a tally what happens to the events.
type player interface {
	// admit plays the events of a webhook, the first of which has this place in the trace.
	admit(ctx context.Context, webhook Trace, place int) error
	// finish plays what follows after the last event.
	finish(ctx context.Context) error
}
