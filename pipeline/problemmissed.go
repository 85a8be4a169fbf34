package pipeline

import (
	"context"
	"errors"
	"sync"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Bounds of the resolves that a process remembers in an outage, and of their texts in bytes.
const (
	maxMissed      = 10_000
	maxMissedBytes = 16 << 20
)

// MissedResolves are resolves that passed while the store was unavailable. The zero value is ready to use. It outlives reloads.
type MissedResolves struct {
	mu    sync.Mutex
	all   []events.Event
	bytes int
}

// add remembers an event if it is a resolve, and there is room.
func (m *MissedResolves) add(e *events.Event) {
	if e.Status != events.Resolved {
		return
	}
	size := len(e.ID) + len(e.Title) + len(e.Fingerprint)
	for name, value := range e.Labels {
		size += len(name) + len(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= maxMissed || m.bytes+size > maxMissedBytes {
		return
	}
	m.bytes += size
	m.all = append(m.all, events.Event{
		ID: e.ID, Channel: e.Channel, Source: e.Source, Fingerprint: e.Fingerprint, Status: e.Status, Labels: e.Labels,
		Category: e.Category, Severity: e.Severity, Sender: e.Sender, Title: e.Title,
	})
}

// take returns the resolves and forgets them.
func (m *MissedResolves) take() []events.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all, m.bytes = nil, 0
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
	all := p.in.opts.Missed.take()
	for i := range all {
		err := p.reportResolve(ctx, &all[i])
		switch {
		case errors.Is(err, ratelimit.ErrUnavailable), errors.Is(err, errChanging):
			for n := range all[i:] {
				p.in.opts.Missed.add(&all[i+n])
			}
			return err
		case err != nil: // it would fail again, and what waits must not wait for it
			p.in.opts.Logger.WarnContext(ctx, "resolve not reported", "channel", all[i].Channel, "error", err)
		}
	}
	return nil
}

// reportResolve ends what waits for an alert. The resolve itself was counted when it passed.
func (p *problems) reportResolve(ctx context.Context, e *events.Event) error {
	if notes := p.sourcesAmong([]events.Event{*e}); len(notes) > 0 {
		if err := p.saveSources(ctx, notes); err != nil {
			return err
		}
	}
	ch := p.in.channel(e.Channel)
	if ch == nil || !p.follows(ch, e) {
		return nil
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
		verdict := batch.observe(problemName(e), problem.Event{ID: e.ID, Resolved: true, Data: []byte("{}")})
		batch.counts = store.ProblemCounts{}
		if verdict.Unheld {
			batch.unhold()
		}
		saved, err := batch.save(ctx)
		if err != nil || saved {
			return err
		}
	}
	return errChanging
}
