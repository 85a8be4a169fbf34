package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"slackrelay/events"
	"slackrelay/store"
)

// Arrival is a decoded webhook.
type Arrival struct {
	Channel string
	Sender  string      // the name of the credential that was presented
	Header  http.Header // for rules
	Test    bool        // it goes to the test lane, which has a budget and a ledger of its own
	Track   bool        // what becomes of its events is kept for a while, for who asks
	Events  []events.Event

	again bool // the events were admitted before: where they go is not counted again
}

// Admit classifies the events of a webhook, asks the limiter, in their order, for those that are not muted, and returns
// the outcome of each. An admitted event is queued for Slack in the same step. A rule may send an event to another channel, and
// copies of it to further ones; the limiter is called for each channel separately. Copies follow the events of the webhook in the
// receipt, and are counted like them.
//
// After an error, not all events are stored: the sender may post the webhook again, and what was stored is then a
// duplicate. What was not stored is not counted.
func (in *Intake) Admit(ctx context.Context, a Arrival) (Receipt, error) {
	ch, ok := in.channels[a.Channel]
	if !ok {
		return Receipt{}, fmt.Errorf("channel %q: %w", a.Channel, ErrUnknownChannel)
	}
	mutedBy, whole := in.classify(ctx, ch, &a, traceparent(ctx, in.opts.Tracer))
	in.opts.Recorder.record(a.Events, mutedBy)
	in.opts.SilenceNotices.passed(a.Events, mutedBy)
	if in.problems != nil {
		in.problems.noteSources(ctx, a.Events)
	}
	receipt, err := in.admitClassified(ctx, a, mutedBy, whole)
	if in.reminds {
		in.noteEnds(ctx, a.Events, &receipt)
	}
	return receipt, err
}

func (in *Intake) admitClassified(ctx context.Context, a Arrival, mutedBy []string, whole bool) (Receipt, error) {
	if whole { // nearly always
		return in.admitOpen(ctx, a.Channel, a.Events)
	}
	return in.admitParts(ctx, a, partsOf(a.Events, mutedBy))
}

// classify finds heartbeats, applies the rules and silences to each other event, and adds the copies to the webhook's events. It
// returns the heartbeat, rule or silence that mutes each event, or "". whole means that all events go to the channel of the webhook
// and none is muted.
func (in *Intake) classify(ctx context.Context, ch *RequestBuilder, a *Arrival, parent string) (mutedBy []string, whole bool) {
	var copies []events.Event
	mutedBy = make([]string, len(a.Events))
	whole = len(a.Events) > 0
	now := in.opts.Now()
	for i := range a.Events {
		e := &a.Events[i]
		e.Channel = a.Channel
		e.Sender = a.Sender
		e.Tracked = a.Track
		if parent != "" {
			e.Trace = parent
		}
		if mutedBy[i] = in.heartbeat(e, a); mutedBy[i] != "" {
			whole = false
			continue
		}
		verdict := ch.Rules.Apply(e, a.Header, now)
		if channel := in.channelFor(ctx, verdict.Channel, e, a.again); channel != "" {
			e.Channel = channel
		}
		copies = in.appendCopies(ctx, copies, e, verdict.Copies, a.again)
		mutedBy[i] = in.mutedBy(e, verdict)
		whole = whole && mutedBy[i] == "" && e.Channel == a.Channel
	}
	for i := range copies {
		mutedBy = append(mutedBy, in.mutedBy(&copies[i], events.Verdict{}))
	}
	a.Events = append(a.Events, copies...)
	if a.Test {
		toTestLane(a.Events)
	}
	return mutedBy, whole && len(copies) == 0 && !a.Test
}

// heartbeat names the heartbeat that an event is; "" = it is none. Rules and silences do not apply to heartbeats.
func (in *Intake) heartbeat(e *events.Event, a *Arrival) string {
	if in.opts.Heartbeats == nil {
		return ""
	}
	if name := in.opts.Heartbeats.Match(a.Channel, e, a.Header, a.Test); name != "" {
		return mutedByHeartbeat + name
	}
	return ""
}

// channelFor returns the channel that an event goes to which a rule sends to a channel or to a template; "" = there is none of
// that name. An event that is sent to a fallback is counted, unless it is so again.
func (in *Intake) channelFor(ctx context.Context, name string, e *events.Event, again bool) string {
	if _, known := in.channels[name]; known {
		return name
	}
	channel, fallback := in.opts.Instances.resolve(ctx, name, e)
	if fallback != "" && !again {
		in.opts.Instances.noteFallback(ctx, name, fallback)
	}
	return channel
}

// appendCopies appends a copy of an event for each of these channels, once where several templates make one channel of it.
func (in *Intake) appendCopies(
	ctx context.Context, copies []events.Event, e *events.Event, channels []string, again bool,
) []events.Event {
	first := len(copies)
	for _, name := range channels {
		channel := in.channelFor(ctx, name, e, again)
		if channel == "" || channel == e.Channel ||
			slices.ContainsFunc(copies[first:], func(copied events.Event) bool { return copied.Channel == channel }) {
			continue
		}
		copies = append(copies, *e)
		copies[len(copies)-1].Channel = channel
	}
	return copies
}

// part is the events of a webhook that go to one channel, by their places in the webhook.
type part struct {
	channel string
	open    []int // not muted
	muted   []int
	mutedBy []string // the rule or silence of each muted event
}

// partsOf returns the parts of classified events in the order in which their channels occur.
func partsOf(all []events.Event, mutedBy []string) []*part {
	var parts []*part
	byChannel := map[string]*part{}
	for i := range all {
		channel := all[i].Channel
		p := byChannel[channel]
		if p == nil {
			p = &part{channel: channel}
			byChannel[channel] = p
			parts = append(parts, p)
		}
		if mutedBy[i] == "" {
			p.open = append(p.open, i)
			continue
		}
		p.muted = append(p.muted, i)
		p.mutedBy = append(p.mutedBy, mutedBy[i])
	}
	return parts
}

// What a receipt says before the name of what muted an event.
const (
	mutedByRule      = "rule "
	mutedBySilence   = "silence "
	mutedByHeartbeat = "heartbeat "
)

// mutedBy names the rule or the silence that mutes an event; "" = it is not muted.
func (in *Intake) mutedBy(e *events.Event, verdict events.Verdict) string {
	if verdict.Muted {
		return mutedByRule + verdict.MutedBy
	}
	if in.opts.Silences == nil {
		return ""
	}
	if id := in.opts.Silences.Mutes(e); id != "" {
		return mutedBySilence + id
	}
	return ""
}

// admitParts asks each channel for its part. Muted events are counted last, so that a webhook that must be sent again does
// not count them twice.
func (in *Intake) admitParts(ctx context.Context, a Arrival, parts []*part) (Receipt, error) {
	receipt := Receipt{Durable: true, Events: make([]EventReceipt, len(a.Events))}
	for _, p := range parts {
		if len(p.open) == 0 {
			continue
		}
		some := make([]events.Event, len(p.open))
		for n, i := range p.open {
			some[n] = a.Events[i]
		}
		partial, err := in.admitOpen(ctx, p.channel, some)
		receipt.add(partial, p.open)
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
			in.opts.Metrics.countMuted(&a.Events[i])
			in.recordOutcome(in.opts.Decisions.Now(), &a.Events[i], store.Muted, p.mutedBy[n])
			in.opts.SilenceNotices.note(p.mutedBy[n], &a.Events[i])
			receipt.addMuted(&a.Events[i], i, p.mutedBy[n])
		}
	}
	for i := range receipt.Events {
		if channel := a.Events[i].Channel; channel != a.Channel {
			receipt.Events[i].Channel = channel
		}
	}
	return receipt, nil
}

func (in *Intake) mute(ctx context.Context, channel string, n int64) error {
	if err := in.opts.Limiter.CountMuted(context.WithoutCancel(ctx), in.channel(channel).Scope(), n); err != nil {
		return fmt.Errorf("channel %s: %w", channel, err)
	}
	return nil
}
