package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// inhibitionsScope has the documents of what fires for inhibitions. No configured channel has its name.
var inhibitionsScope = store.Channel{Name: "~inhibitions"}

// sourceNote is a source of an inhibition.
type sourceNote struct {
	document string
	ttl      time.Duration
	event    *events.Event
	age      time.Duration // of a resolve that passed unseen; 0 = it is new
}

// sourcesAmong returns the sources among events.
func (p *problems) sourcesAmong(all []events.Event) (notes []sourceNote) {
	for i := range all {
		e := &all[i]
		if !isAlert(e) || e.Test {
			continue
		}
		for _, inhibition := range p.inhibitions {
			if inhibition.IsSource(e) {
				notes = append(notes, sourceNote{document: inhibition.Document(e), ttl: inhibition.SourceTTL, event: e})
			}
		}
	}
	return notes
}

// noteSources notes which sources of inhibitions fire, and which ended.
func (p *problems) noteSources(ctx context.Context, all []events.Event) {
	for some := range slices.Chunk(p.sourcesAmong(all), store.MaxProblems) {
		if err := p.saveSources(context.WithoutCancel(ctx), some); err != nil {
			for _, note := range some {
				if note.event.Status == events.Resolved {
					p.in.opts.Missed.add(missedNow(note.event))
				}
			}
			p.in.opts.Logger.WarnContext(ctx, "sources of inhibitions not noted", "error", err)
		}
	}
}

func (p *problems) saveSources(ctx context.Context, notes []sourceNote) error {
	names := make([]string, len(notes))
	for i, note := range notes {
		names[i] = note.document
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for range problemTries {
		now, loaded, err := p.store.Problems(ctx, inhibitionsScope, names)
		if err != nil {
			return err
		}
		changes, err := sourceChanges(now, loaded, notes)
		if err != nil || len(changes) == 0 {
			return err
		}
		saved, err := p.store.SaveProblems(ctx, inhibitionsScope, changes, store.ProblemCounts{})
		if err != nil || saved {
			return err
		}
	}
	return errChanging
}

// sourceChanges returns what the notes change in the documents.
func sourceChanges(now int64, loaded []store.Problem, notes []sourceNote) (changes []store.ProblemChange, err error) {
	for _, one := range loaded {
		sources, err := problem.DecodeSources(one.Data)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", one.Name, err)
		}
		var keep time.Duration
		changed := false
		for _, note := range notes {
			if note.document == one.Name {
				var differs bool
				e := note.event
				if note.age > 0 {
					sources, differs = sources.ResolveMissed(sourceKey(e), now-note.age.Microseconds(), now)
				} else {
					sources, differs = sources.Note(sourceKey(e), titleFor(e), e.Status == events.Firing, note.ttl, now)
				}
				changed = changed || differs
				keep = note.ttl + sourcesKept
			}
		}
		if !changed {
			continue
		}
		data, err := json.Marshal(sources)
		if err != nil {
			return nil, fmt.Errorf("encode document %s: %w", one.Name, err)
		}
		changes = append(changes, store.ProblemChange{Name: one.Name, Version: one.Version, Data: data, Keep: keep})
	}
	return changes, nil
}

// sourcesKept is how long the end of the last source is remembered, at least: as long as a release may take.
const sourcesKept = 25 * time.Hour

// sourceKey identifies a source over all channels.
func sourceKey(e *events.Event) string { return hashName(e.Channel+"\x00"+e.Source, e.Fingerprint) }

// inhibitors returns what inhibits each firing event. It returns nothing for nil and for a resolve.
func (p *problems) inhibitors(ctx context.Context, now int64, all []*events.Event) ([]problem.Inhibiting, error) {
	found := make([]problem.Inhibiting, len(all))
	var names []string
	for _, e := range all {
		p.eachTarget(e, func(i *problem.CompiledInhibition) { names = append(names, i.Document(e)) })
	}
	slices.Sort(names)
	names = slices.Compact(names)
	sources := map[string]problem.Sources{}
	for some := range slices.Chunk(names, store.MaxProblems) {
		at, loaded, err := p.store.Problems(ctx, inhibitionsScope, some)
		if err != nil {
			return nil, err
		}
		now = max(now, at)
		for _, one := range loaded {
			if sources[one.Name], err = problem.DecodeSources(one.Data); err != nil {
				return nil, fmt.Errorf("document %s: %w", one.Name, err)
			}
		}
	}
	for n, e := range all {
		p.eachTarget(e, func(i *problem.CompiledInhibition) {
			of := sources[i.Document(e)]
			title, fires := of.Active(sourceKey(e), now)
			if fires && found[n].Inhibition == "" {
				found[n].Inhibition, found[n].Source = i.Name, title
			}
			end := of.End(now)
			if fires {
				end = now // or later
			}
			found[n].ReleaseAt = max(found[n].ReleaseAt, end+i.ReleaseAfter.Microseconds())
		})
	}
	return found, nil
}

// eachTarget calls f with the inhibitions of a firing event.
func (p *problems) eachTarget(e *events.Event, f func(i *problem.CompiledInhibition)) {
	if e == nil || e.Status != events.Firing || e.Test {
		return
	}
	for _, inhibition := range p.inhibitions {
		if inhibition.IsTarget(e) {
			f(inhibition)
		}
	}
}
