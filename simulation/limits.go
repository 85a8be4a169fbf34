package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
	"slackrelay/store"
)

// limits plays a trace against limits alone, with package multi. What they admit is posted at once.
type limits struct {
	limiter *multi.Limiter
	builder *pipeline.RequestBuilder
	now     time.Time
	tally   *tally
}

func newLimits(setting *Setting, t *tally) *limits {
	channel := setting.Channel
	channel.Tiers = slices.Clone(channel.Tiers)
	for i := range channel.Tiers {
		if channel.Tiers[i].Strategy.Kind == "" {
			channel.Tiers[i].Strategy.Kind = ratelimit.FixedWindow
		}
	}
	l := &limits{builder: channel.RequestBuilder(), tally: t}
	l.limiter = multi.NewMemory(func() time.Time { return l.now }, multi.Options{})
	return l
}

// admit implements [player].
func (l *limits) admit(ctx context.Context, webhook Trace, place int) error {
	l.now = Start.Add(webhook[0].At)
	for i := range webhook {
		e := &webhook[i]
		l.tally.receive(e, webhook[0].At)
		request := l.builder.Build(&events.Event{Category: e.Category, Sender: e.Sender, Severity: e.Severity, Labels: e.Labels})
		request.ID = idOf(e, place+i)
		decisions, err := l.limiter.Admit(ctx, []ratelimit.Request{request})
		if err != nil {
			return err
		}
		d := decided{
			category: e.Category, isCritical: e.isCritical(), isResolve: e.Status == events.Resolved, fingerprint: e.Fingerprint,
			number: int64(place + i + 1),
		}
		switch {
		case decisions[0].Duplicate:
			d.outcome = store.Duplicate
		case len(decisions[0].Refused) > 0:
			d.outcome = store.Dropped
		default:
			d.outcome = store.Admitted
		}
		l.tally.decide(webhook[0].At, d)
		if d.outcome == store.Admitted {
			l.tally.post(webhook[0].At, d.number)
		}
	}
	return nil
}

// finish implements [player].
func (*limits) finish(context.Context) error { return nil }

// idOf returns an event's id for the limiter: its own, or a unique one.
func idOf(e *Event, place int) string {
	if e.ID == "" {
		return "#" + strconv.Itoa(place)
	}
	sum := sha256.Sum256([]byte(e.ID))
	return hex.EncodeToString(sum[:16])
}
