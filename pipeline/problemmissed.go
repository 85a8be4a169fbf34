package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/ratelimit"
)

// Bounds of the events that a process remembers in an outage, and of their texts in bytes.
const (
	maxMissed      = 10_000
	maxMissedBytes = 16 << 20
)

// MissedEvents are events of alerts that passed while the store was unavailable. The zero value is ready to use. It outlives
// reloads.
type MissedEvents struct {
	mu    sync.Mutex
	all   []missedEvent
	bytes int
}

// missedEvent is an event that passed, and when it did.
type missedEvent struct {
	event events.Event
	at    time.Time
}

// missedNow returns an event that passes now, without what reports do not need.
func missedNow(e *events.Event) missedEvent {
	return missedEvent{at: time.Now(), event: events.Event{
		ID: e.ID, Channel: e.Channel, Source: e.Source, Fingerprint: e.Fingerprint, Status: e.Status, Labels: e.Labels,
		Category: e.Category, Severity: e.Severity, Sender: e.Sender, Title: e.Title,
	}}
}

// size is about how many bytes the texts of the event have.
func (m *missedEvent) size() int {
	size := len(m.event.ID) + len(m.event.Title) + len(m.event.Fingerprint)
	for name, value := range m.event.Labels {
		size += len(name) + len(value)
	}
	return size
}

// add remembers events, as far as there is room.
func (m *MissedEvents) add(some ...missedEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range some {
		size := some[i].size()
		if len(m.all) >= maxMissed || m.bytes+size > maxMissedBytes {
			return
		}
		m.bytes += size
		m.all = append(m.all, some[i])
	}
}

// take returns the events and forgets them.
func (m *MissedEvents) take() []missedEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all, m.bytes = nil, 0
	return all
}

// ReportMissed reports the events of alerts that passed while the store was unavailable, so that no firing that waits is posted
// after its resolve, and no resolve of a firing that was posted is muted.
func (in *Intake) ReportMissed(ctx context.Context) error {
	switch {
	case in.problems != nil:
		return in.problems.reportMissed(ctx)
	case in.reminds:
		return (&problems{in: in, store: in.opts.Problems}).reportMissed(ctx)
	default:
		return nil
	}
}

// remember reports events that passed unseen, or remembers them for later. Where the limiter decided about them durably, the
// store is available again, and they are reported before what they end is posted. Nobody read a firing that it could not
// decide about.
func (p *problems) remember(ctx context.Context, unseen []missedEvent, decided, durable bool) {
	ctx = context.WithoutCancel(ctx)
	for i := range unseen {
		if decided && durable && p.report(ctx, &unseen[i]) == nil {
			continue
		}
		durable = false // the others would wait too
		if decided || unseen[i].event.Status == events.Resolved {
			p.in.opts.Missed.add(unseen[i])
		}
	}
}

func (p *problems) reportMissed(ctx context.Context) error {
	all := p.in.opts.Missed.take()
	for i := range all {
		err := p.report(ctx, &all[i])
		switch {
		case errors.Is(err, ratelimit.ErrUnavailable), errors.Is(err, errChanging):
			p.in.opts.Missed.add(all[i:]...)
			return err
		case err != nil: // it would fail again, and what waits must not wait for it
			p.in.opts.Logger.WarnContext(ctx, "event of an outage not reported", "channel", all[i].event.Channel, "error", err)
		}
	}
	return nil
}

// reportEnd notes for the inhibitions and the reminders that an alert was resolved this long ago. ch may be nil.
func (p *problems) reportEnd(ctx context.Context, ch *RequestBuilder, e *events.Event, age time.Duration) error {
	if notes := p.sourcesAmong([]events.Event{*e}); len(notes) > 0 {
		for i := range notes {
			notes[i].age = age
		}
		if err := p.saveSources(ctx, notes); err != nil {
			return err
		}
	}
	if ch == nil || ch.Remind.After == 0 || ch.Handling == nil {
		return nil
	}
	return p.in.noteEnd(ctx, ch, e, age)
}

// report ends what waits for an alert, unless there is a newer event. The event itself was counted when it passed.
func (p *problems) report(ctx context.Context, missed *missedEvent) error {
	e, age := &missed.event, time.Since(missed.at)
	ch := p.in.channel(e.Channel)
	if e.Status == events.Resolved {
		if err := p.reportEnd(ctx, ch, e, age); err != nil {
			return err
		}
	}
	if ch == nil || !p.follows(ch, e) {
		return nil
	}
	data, err := encodeKept(e)
	if err != nil {
		return err
	}
	for range problemTries {
		batch, err := p.load(ctx, ch, []string{problemName(e)})
		if err != nil {
			return err
		}
		if batch.pending() {
			if err := batch.wake(ctx); err != nil {
				return err
			}
			continue
		}
		batch.report(problemName(e), problem.Event{ID: e.ID, Resolved: e.Status == events.Resolved, Data: data}, age)
		saved, err := batch.save(ctx)
		if err != nil || saved {
			return err
		}
	}
	return errChanging
}
