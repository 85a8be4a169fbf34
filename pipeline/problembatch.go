package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// problemBatch is documents of one channel that are decided about together.
type problemBatch struct {
	p        *problems
	ch       *RequestBuilder
	settings problem.Settings
	now      int64
	order    []string
	loaded   map[string]store.Problem
	docs     map[string]problem.Document
	counts   store.ProblemCounts
	unheld   []unheldEvent // for the decision log
}

// unheldEvent is an event that waited and is muted now.
type unheldEvent struct {
	id   string
	data []byte
	by   string
}

// load loads documents.
func (p *problems) load(ctx context.Context, ch *RequestBuilder, names []string) (*problemBatch, error) {
	now, all, err := p.store.Problems(ctx, ch.Scope(), names)
	if err != nil {
		return nil, err
	}
	return p.batchOf(ch, now, all)
}

func (p *problems) batchOf(ch *RequestBuilder, now int64, all []store.Problem) (*problemBatch, error) {
	b := &problemBatch{
		p: p, ch: ch, settings: problemSettings(ch), now: now,
		loaded: make(map[string]store.Problem, len(all)), docs: make(map[string]problem.Document, len(all)),
	}
	for _, one := range all {
		d, err := problem.Decode(one.Data)
		if err != nil {
			return nil, fmt.Errorf("document %s of channel %s: %w", one.Name, ch.Name, err)
		}
		b.order = append(b.order, one.Name)
		b.loaded[one.Name], b.docs[one.Name] = one, d
	}
	return b, nil
}

// pending reports whether an event must be admitted first.
func (b *problemBatch) pending() bool {
	for _, d := range b.docs {
		if d.Out != nil {
			return true
		}
	}
	return false
}

// observe decides about an event.
func (b *problemBatch) observe(name string, e problem.Event) problem.Verdict {
	before := b.docs[name]
	d, verdict := b.settings.Observe(before, e, b.now)
	b.docs[name] = d
	switch verdict.Action {
	case problem.Pass:
		return verdict
	case problem.Hold:
		b.counts.Delayed++
		b.counts.Held++
	case problem.Mute:
		b.counts.Muted++
	case problem.Merge:
		b.counts.Merged++
	case problem.Duplicate:
		b.counts.Duplicate++
	}
	b.counts.Received++
	if verdict.Unheld {
		b.unhold(before, verdict.By)
	}
	return verdict
}

// report decides about an event of this age that passed unseen, and was counted then.
func (b *problemBatch) report(name string, e problem.Event, age time.Duration) {
	var verdict problem.Verdict
	before := b.docs[name]
	if at := b.now - age.Microseconds(); e.Resolved {
		b.docs[name], verdict = b.settings.ResolveMissed(b.docs[name], e, at, b.now)
	} else {
		b.docs[name], verdict = b.settings.FiringMissed(b.docs[name], e, at)
	}
	if verdict.Unheld {
		b.unhold(before, verdict.By)
	}
}

// unhold counts the event that waited in a document as muted.
func (b *problemBatch) unhold(before problem.Document, by string) {
	b.counts.Delayed--
	b.counts.Held--
	b.counts.Muted++
	if before.Held != nil {
		b.unheld = append(b.unheld, unheldEvent{before.Held.ID, before.Held.Data, by})
	}
}

// save saves the documents that changed. Where that is refused because one has changed since, nothing was saved.
func (b *problemBatch) save(ctx context.Context) (saved bool, err error) {
	var changes []store.ProblemChange
	for _, name := range b.order {
		d, before := b.docs[name], b.loaded[name]
		data, err := d.Encode(b.settings)
		if err != nil {
			return false, fmt.Errorf("encode document %s of channel %s: %w", name, b.ch.Name, err)
		}
		if bytes.Equal(data, before.Data) {
			continue
		}
		changes = append(changes, store.ProblemChange{
			Name: name, Version: before.Version, Data: data, Wake: d.Wake(b.settings), Keep: d.Keep(b.settings),
		})
	}
	if len(changes) == 0 && b.counts == (store.ProblemCounts{}) {
		return true, nil
	}
	saved, err = b.p.store.SaveProblems(ctx, b.ch.Scope(), changes, b.counts)
	if saved && err == nil {
		b.recordUnheld()
	}
	return saved, err
}

// wake looks at documents whose wake time has passed, or that have an event that must be admitted, and admits that.
func (b *problemBatch) wake(ctx context.Context) error {
	waiting, err := b.waiting()
	if err != nil {
		return err
	}
	inhibiting, err := b.p.inhibitors(ctx, b.now, waiting)
	if err != nil {
		return err
	}
	for i, name := range b.order {
		before := b.docs[name]
		d, unheld := b.settings.Wake(before, b.now, inhibiting[i])
		b.docs[name] = d
		if unheld {
			b.unhold(before, problem.ByInhibition+inhibiting[i].Inhibition)
			b.p.in.opts.Metrics.decided(waiting[i], store.Muted.String(), "").Inc()
		}
	}
	saved, err := b.save(ctx)
	if err != nil || !saved {
		return err
	}
	var names []string
	for _, name := range b.order {
		if d := b.docs[name]; d.Out != nil {
			names = append(names, name)
		}
	}
	return b.p.release(ctx, b.ch, names, b.docs)
}

// waiting returns the events that wait in the documents; nil for one without.
func (b *problemBatch) waiting() ([]*events.Event, error) {
	all := make([]*events.Event, len(b.order))
	for i, name := range b.order {
		d := b.docs[name]
		if data := d.Subject(); data != nil {
			e, err := decodeKept(data)
			if err != nil {
				return nil, fmt.Errorf("document %s of channel %s: %w", name, b.ch.Name, err)
			}
			all[i] = &e
		}
	}
	return all, nil
}

// release admits the events of documents that this replica claimed, and notes that in the documents.
func (p *problems) release(ctx context.Context, ch *RequestBuilder, names []string, claimed map[string]problem.Document) error {
	if len(names) == 0 {
		return nil
	}
	var outs []*problem.Out
	all := make([]events.Event, 0, len(names))
	for _, name := range names {
		d := claimed[name]
		e, err := eventOf(d.Out)
		if err != nil {
			return fmt.Errorf("document %s of channel %s: %w", name, ch.Name, err)
		}
		outs, all = append(outs, d.Out), append(all, e)
	}
	decisions, err := p.in.admitReleased(ctx, ch, all, outs)
	if err != nil {
		return err
	}
	batch, err := p.load(ctx, ch, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		d := batch.docs[name]
		if d.Out == nil || d.Out.ID != outs[i].ID || d.Out.Tries != outs[i].Tries {
			continue // another replica took it over
		}
		batch.docs[name] = d.Finish()
		if !outs[i].Made {
			batch.counts.Received--
			batch.counts.Delayed--
			batch.counts.Held--
		}
		if outs[i].Tries > 0 && decisions[i].Outcome == store.Duplicate { // it was admitted before, and counted then
			batch.counts.Received--
			batch.counts.Duplicate--
		}
	}
	_, err = batch.save(ctx) // if it is not saved, the event is admitted again, and is a duplicate then
	return err
}
