package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"slackrelay/pipeline"
)

// Exit codes of relay send --wait.
const (
	exitNotPosted = 3 // the event was dropped or muted
	exitRefused   = 4 // Slack refused its message for good, or it expired
	exitWaits     = 5 // it still waits
)

// exitError ends a command with a code of its own.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// followed is an event of a receipt while its message is followed.
type followed struct {
	pipeline.EventReceipt

	channel string // whose outbox has the message
	said    string // the last text that was printed
	state   pipeline.DeliveryState
}

// outcomes that end without a message of their own, and what the exit code is then.
var endsAtIntake = map[string]int{"dropped": exitNotPosted, "muted": exitNotPosted, "merged": 0}

// pollDelivery is the time between two questions about a message.
const pollDelivery = 200 * time.Millisecond

// follow prints what became of the messages of a receipt's events, until Slack has answered each or the time is over. It returns what
// is known of each in the end, by the id of its event.
func (o *sendOptions) follow(ctx context.Context, receipt pipeline.Receipt, out io.Writer) (map[string]pipeline.DeliveryState, error) {
	ctx, cancel := context.WithTimeout(ctx, o.waitFor)
	defer cancel()
	worst := &exitError{}
	states := map[string]pipeline.DeliveryState{}
	for _, e := range receipt.Events {
		one := followed{EventReceipt: e, channel: cmp.Or(e.Channel, o.channel)}
		ended, err := o.followOne(ctx, &one, out)
		if err != nil {
			return states, err
		}
		if one.state.State != "" {
			states[e.ID] = one.state
		}
		if ended != nil && ended.code > worst.code {
			worst = ended
		}
	}
	if worst.code == 0 {
		return states, nil
	}
	return states, worst
}

// followOne prints what became of the message of one event; nil = it was posted.
func (o *sendOptions) followOne(ctx context.Context, e *followed, out io.Writer) (*exitError, error) {
	if code, ends := endsAtIntake[e.Outcome]; ends {
		if code == 0 {
			return nil, nil //nolint:nilnil // it was posted with another
		}
		return &exitError{code, "the event was " + e.Outcome + "; it is not posted"}, nil
	}
	for {
		state, err := o.delivery(ctx, e)
		e.state = state
		switch {
		case err != nil:
			return nil, err
		case state.State == "delivered":
			e.say(out, state.State, phrase{text: deliveredTo(state)})
			return nil, nil //nolint:nilnil // it was posted
		case state.State == "failed" || state.State == "expired":
			e.say(out, state.State, whyNot(state))
			return &exitError{exitRefused, "the message was not posted; see the dead letters: " + o.commandAbout("relay dead list", e)}, nil
		case state.State == "" && e.Outcome == "duplicate":
			return nil, nil //nolint:nilnil // the first event with the id was posted, or will be
		}
		if why := o.why(ctx, e, state); why.text != "" {
			e.say(out, "waiting", why)
		}
		select {
		case <-ctx.Done():
			return &exitError{exitWaits, fmt.Sprintf("the message still waits after %s; see: %s", o.waitFor, o.commandAbout("relay status", e))}, nil
		case <-time.After(pollDelivery):
		}
	}
}

// commandAbout is a command about the channel of an event.
func (o *sendOptions) commandAbout(name string, e *followed) string {
	ops := o.ops
	ops.channel = e.channel
	return ops.command(name)
}

// say prints a text and what to do about it, unless it is the last one again.
func (e *followed) say(out io.Writer, state string, why phrase) {
	text := fmt.Sprintf("%-9s  %s", state, cleaned(why.text))
	if why.remedy != "" {
		text += fmt.Sprintf("\n%-9s  -> %s", "", cleaned(why.remedy))
	}
	if text != e.said {
		fmt.Fprintln(out, text)
		e.said = text
	}
}

// phrase is why something is not posted, and what to do about it.
type phrase struct{ text, remedy string }

// delivery asks what became of an event; the zero value = it was not tried yet.
func (o *sendOptions) delivery(ctx context.Context, e *followed) (pipeline.DeliveryState, error) {
	var state pipeline.DeliveryState
	path := "/channels/" + url.PathEscape(e.channel) + "/deliveries/" + url.PathEscape(e.ID)
	err := o.ops.api(context.WithoutCancel(ctx), call{path: path, reply: &state})
	if refused, ok := errors.AsType[*refusal](err); ok && refused.code == "not_found" {
		return pipeline.DeliveryState{}, nil
	}
	return state, err
}

// why returns what a message waits for; "" = for its turn.
func (o *sendOptions) why(ctx context.Context, e *followed, state pipeline.DeliveryState) phrase {
	if state.State != "" && state.Reason != "" {
		return whyNot(state)
	}
	if e.Outcome == "delayed" {
		return phrase{text: "for a free slot, or until its hold ends"}
	}
	var status pipeline.ChannelStatus
	if o.ops.api(context.WithoutCancel(ctx), call{path: "/channels/" + url.PathEscape(e.channel), reply: &status}) != nil {
		return phrase{}
	}
	switch s := status.State; {
	case s.Fault != nil && s.Fault.Token != "":
		return phrase{"Slack refuses the token: " + s.Fault.Message, s.Fault.Remedy}
	case s.Fault != nil:
		return phrase{s.Fault.Message, s.Fault.Remedy}
	case s.PausedUntil != nil:
		return phrase{text: "the channel is paused: " + s.Reason}
	default:
		return phrase{}
	}
}

// deliveredTo returns where a message is.
func deliveredTo(state pipeline.DeliveryState) string {
	if state.TS == "" {
		return "(the destination does not say where the message is)"
	}
	where := fmt.Sprintf("to %s, ts %s", state.SlackChannel, state.TS)
	if state.Link != "" {
		where += "  " + state.Link
	}
	return where
}

// whyNot returns why a message was not posted, and what to do about it.
func whyNot(state pipeline.DeliveryState) phrase {
	text := state.Reason
	if state.Message != "" {
		text = strings.TrimPrefix(text+": "+state.Message, ": ")
	} else if state.Answer != "" && state.Answer != state.Reason {
		text += ": " + state.Answer
	}
	return phrase{text, state.Remedy}
}
