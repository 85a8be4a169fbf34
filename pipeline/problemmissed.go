package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
)

// maxMissed bounds the events that a process remembers in an outage.
const maxMissed = 10_000

// missedEvents are events of alerts that passed while the store was unavailable. The zero value is ready to use.
type missedEvents struct {
	mu  sync.Mutex
	all []missedEvent
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

// add remembers events, as far as there is room.
func (m *missedEvents) add(some ...missedEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, some[:min(len(some), maxMissed-len(m.all))]...)
}

// take returns the events and forgets them.
func (m *missedEvents) take() []missedEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all = nil
	return all
}

// ReportMissed reports the events of alerts that passed while the store was unavailable, so that no firing that waits is posted
// after its resolve, and no resolve of a firing that was posted is muted.
func (in *Intake) ReportMissed(ctx context.Context) error {
	if in.problems == nil {
		return nil
	}
	return in.problems.reportMissed(ctx)
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
			p.missed.add(unseen[i])
		}
	}
}

func (p *problems) reportMissed(ctx context.Context) error {
	all := p.missed.take()
	for i := range all {
		if err := p.report(ctx, &all[i]); err != nil {
			p.missed.add(all[i:]...)
			return err
		}
	}
	return nil
}

// report ends what waits for an alert, unless there is a newer event. The event itself was counted when it passed.
func (p *problems) report(ctx context.Context, missed *missedEvent) error {
	e, age := &missed.event, time.Since(missed.at)
	if notes := p.sourcesAmong([]events.Event{*e}); len(notes) > 0 && e.Status == events.Resolved {
		for i := range notes {
			notes[i].age = age
		}
		if err := p.saveSources(ctx, notes); err != nil {
			return err
		}
	}
	ch := p.in.channel(e.Channel)
	if ch == nil || !p.follows(ch, e) {
		return nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
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
