package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// alertBoard is what one decision is made from: the documents of the posted alerts.
type alertBoard struct {
	now    time.Time // of the store
	names  []string
	byName map[string]*alertDocument
}

// alertDocument is the document of an alert, and what becomes of it.
type alertDocument struct {
	version int64
	alert   *problem.Alert // nil = there is none
	changed bool
}

// post decides about posted alerts in order, and returns the events to be passed on, and those of the posts that only say that an
// alert still fires.
func (b *alertBoard) post(
	posted []problem.Alert, decoded []events.Event, muted func(e events.Event) bool,
) (news, repeats []events.Event) {
	for i, one := range posted {
		document := b.byName[alertPrefix+one.Event.Fingerprint]
		one.Event = decoded[i]
		next, isNews, changed := problem.PostAlert(document.alert, one, b.now)
		if !isNews && next.Muted && next.State == problem.AlertFiring && !muted(next.Event) {
			next, isNews = next.Unmuted(), true
		}
		if changed && document.alert != nil && document.alert.Unsaid {
			news = append(news, document.alert.Event)
		}
		document.alert = &next
		document.changed = document.changed || changed || isNews
		switch {
		case isNews:
			news = append(news, next.Event)
		case next.State == problem.AlertFiring:
			repeats = append(repeats, next.Event)
		}
	}
	return news, repeats
}

// heard notes which of the events that were passed on are muted by a rule or a silence, which may end before the alert does.
func (b *alertBoard) heard(passed []events.Event, receipt Receipt) {
	for i := range min(len(passed), len(receipt.Events)) {
		by := receipt.Events[i].By
		if alert := b.byName[alertPrefix+passed[i].Fingerprint].alert; alert.State == problem.AlertFiring {
			alert.Muted = strings.HasPrefix(by, mutedByRule) || strings.HasPrefix(by, mutedBySilence)
		}
	}
}

// changes returns what must be saved.
func (b *alertBoard) changes() []store.ProblemChange {
	var all []store.ProblemChange
	for _, name := range b.names {
		document := b.byName[name]
		if !document.changed {
			continue
		}
		if change, err := changeOf(name, document.version, *document.alert); err == nil {
			change.Wake = microsOf(document.alert.Wake())
			all = append(all, change)
		}
	}
	return all
}

// changeOf returns the change of a document. Annotations that do not fit are left out: only lists show them.
func changeOf(name string, version int64, alert problem.Alert) (store.ProblemChange, error) {
	alert.Event.Trace = ""
	alert.Group = alert.Event.Group
	data, err := json.Marshal(alert)
	if err == nil && len(data) > store.MaxProblemBytes {
		alert.Annotations = nil
		data, err = json.Marshal(alert)
	}
	switch {
	case err != nil:
		return store.ProblemChange{}, fmt.Errorf("encode an alert: %w", err)
	case len(data) > store.MaxProblemBytes:
		return store.ProblemChange{}, fmt.Errorf("alert %s has %d bytes: %w", alert.Event.Fingerprint, len(data), store.ErrProblemsFull)
	}
	return store.ProblemChange{Name: name, Version: version, Data: data, Keep: alert.Keep()}, nil
}

// microsOf returns a time of the store in microseconds; 0 = never.
func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// isMuted reports whether a rule or a silence mutes an event of an arrival.
func (in *Intake) isMuted(ctx context.Context, a Arrival, e events.Event) bool {
	a.Events = []events.Event{e}
	a.again = true
	mutedBy, _ := in.classify(ctx, in.channels[a.Channel], &a, "")
	return mutedBy[0] != ""
}

// noteRepeats notes what posts say that an alert still fires, and that are no events: a heartbeat arrived, or a source of
// inhibitions still fires.
func (in *Intake) noteRepeats(ctx context.Context, a Arrival, repeats []events.Event) {
	var others []events.Event
	for i := range repeats {
		if in.heartbeat(&repeats[i], &a) == "" {
			others = append(others, repeats[i])
		}
	}
	if in.problems == nil || len(in.problems.inhibitions) == 0 || len(others) == 0 {
		return
	}
	a.Events = others
	a.again = true
	in.classify(ctx, in.channels[a.Channel], &a, "")
	in.problems.noteSources(ctx, a.Events)
}
