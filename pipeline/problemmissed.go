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

// maxMissed bounds the resolves that a process remembers in an outage.
const maxMissed = 10_000

// missedResolves are resolves that passed while the store was unavailable. The zero value is ready to use.
type missedResolves struct {
	mu  sync.Mutex
	all []missedResolve
}

// missedResolve is a resolve that passed, and when it did.
type missedResolve struct {
	event events.Event
	at    time.Time
}

// add remembers an event if it is a resolve.
func (m *missedResolves) add(e *events.Event) {
	if e.Status != events.Resolved {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) < maxMissed {
		m.all = append(m.all, missedResolve{at: time.Now(), event: events.Event{
			ID: e.ID, Channel: e.Channel, Source: e.Source, Fingerprint: e.Fingerprint, Status: e.Status, Labels: e.Labels,
			Category: e.Category, Severity: e.Severity, Sender: e.Sender, Title: e.Title,
		}})
	}
}

// putBack remembers resolves that could not be reported.
func (m *missedResolves) putBack(some []missedResolve) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(some, m.all...)
	m.all = m.all[:min(len(m.all), maxMissed)]
}

// take returns the resolves and forgets them.
func (m *missedResolves) take() []missedResolve {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all = nil
	return all
}

// ReportMissed reports the resolves that passed while the store was unavailable, so that no firing that waits is posted after
// its resolve.
func (in *Intake) ReportMissed(ctx context.Context) error {
	if in.problems == nil {
		return nil
	}
	return in.problems.reportMissed(ctx)
}

func (p *problems) reportMissed(ctx context.Context) error {
	all := p.missed.take()
	for i := range all {
		if err := p.reportResolve(ctx, &all[i]); err != nil {
			p.missed.putBack(all[i:])
			return err
		}
	}
	return nil
}

// reportResolve ends what waits for an alert, unless it fired again since the resolve passed. The resolve itself was counted
// when it passed.
func (p *problems) reportResolve(ctx context.Context, missed *missedResolve) error {
	e, age := &missed.event, time.Since(missed.at)
	if notes := p.sourcesAmong([]events.Event{*e}); len(notes) > 0 {
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
		batch.resolveMissed(problemName(e), problem.Event{ID: e.ID, Resolved: true, Data: data}, age)
		saved, err := batch.save(ctx)
		if err != nil || saved {
			return err
		}
	}
	return errChanging
}
