package pipeline

import (
	"context"
	"fmt"
	"net/http"

	"slackrelay/events"
)

// Arrival is a webhook that was decoded.
type Arrival struct {
	Channel string
	Sender  string      // who presented which credential
	Header  http.Header // for rules
	Test    bool        // it goes to the test lane, with a budget and a ledger of its own
	Events  []events.Event
}

// Silencer says which silence mutes an event; *silence.Silencer does.
type Silencer interface {
	Mutes(e *events.Event) (id string)
}

// Take classifies the events of a webhook, asks the limiter for those that are not muted, in their order, and says what
// became of each. Events that fit are queued for Slack in the same step. A rule may send an event to another channel; each
// channel is asked in calls of its own.
//
// An error means that not all of them were stored; the sender may post the webhook again, and what was
// stored is then a duplicate. Nothing that was not stored is counted.
func (in *Intake) Take(ctx context.Context, a Arrival) (Receipt, error) {
	ch, ok := in.channels[a.Channel]
	if !ok {
		return Receipt{}, fmt.Errorf("channel %q: %w", a.Channel, ErrUnknownChannel)
	}
	parent := traceparent(ctx)
	for i := range a.Events {
		a.Events[i].Channel, a.Events[i].Sender = a.Channel, a.Sender
		if parent != "" {
			a.Events[i].Trace = parent
		}
	}
	parts := in.classify(ch, a)
	if len(parts) == 1 && parts[0].channel == a.Channel && len(parts[0].muted) == 0 { // as nearly always
		return in.take(ctx, a.Channel, a.Events)
	}
	return in.takeParts(ctx, a, parts)
}

// part are the events of a webhook that go to one channel, by their places in the webhook.
type part struct {
	channel string
	asked   []int
	muted   []int
	by      []string // what muted them
}

// classify says where each event goes, in the order in which the channels are first met.
func (in *Intake) classify(ch *intakeChannel, a Arrival) []*part {
	var parts []*part
	byChannel := map[string]*part{}
	now := in.opts.Now()
	for i := range a.Events {
		e := &a.Events[i]
		verdict := ch.Rules.Apply(e, a.Header, now)
		if _, known := in.channels[verdict.Channel]; known {
			e.Channel = verdict.Channel
		}
		by := ""
		if verdict.Muted {
			by = "rule " + verdict.Rules[len(verdict.Rules)-1]
		} else if in.opts.Silences != nil {
			if id := in.opts.Silences.Mutes(e); id != "" {
				by = "silence " + id
			}
		}
		if a.Test {
			e.Test, e.Channel = true, e.Channel+testSuffix
		}
		p := byChannel[e.Channel]
		if p == nil {
			p = &part{channel: e.Channel}
			byChannel[e.Channel], parts = p, append(parts, p)
		}
		if by != "" {
			p.muted, p.by = append(p.muted, i), append(p.by, by)
		} else {
			p.asked = append(p.asked, i)
		}
	}
	return parts
}

// takeParts asks each channel for its part. What is muted is counted last, so that a webhook that must be sent again does
// not count it twice.
func (in *Intake) takeParts(ctx context.Context, a Arrival, parts []*part) (Receipt, error) {
	receipt := Receipt{Durable: true, Events: make([]EventReceipt, len(a.Events))}
	for _, p := range parts {
		if len(p.asked) == 0 {
			continue
		}
		some := make([]events.Event, len(p.asked))
		for n, i := range p.asked {
			some[n] = a.Events[i]
		}
		answer, err := in.take(ctx, p.channel, some)
		receipt.add(answer, p.asked)
		if err != nil {
			return receipt, err
		}
	}
	for _, p := range parts {
		if len(p.muted) == 0 {
			continue
		}
		if err := in.mute(ctx, p.channel, int64(len(p.muted))); err != nil {
			return receipt, err
		}
		for n, i := range p.muted {
			in.opts.Metrics.muted(&a.Events[i])
			receipt.Received, receipt.Muted = receipt.Received+1, receipt.Muted+1
			receipt.Events[i] = EventReceipt{ID: a.Events[i].ID, Category: a.Events[i].Category, Outcome: mutedOutcome, By: p.by[n]}
		}
	}
	for i := range receipt.Events {
		if went := a.Events[i].Channel; went != a.Channel {
			receipt.Events[i].Channel = went
		}
	}
	return receipt, nil
}

func (in *Intake) mute(ctx context.Context, channel string, n int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.opts.Timeout)
	defer cancel()
	if err := in.opts.Limiter.CountMuted(ctx, in.channels[channel].scope(), n); err != nil {
		return fmt.Errorf("channel %s: %w", channel, err)
	}
	return nil
}

// mutedOutcome is the outcome of what a rule or a silence kept out.
const mutedOutcome = "muted"
