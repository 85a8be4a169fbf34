package events

import "cmp"

// Limits bound what is taken of a webhook. Zero means the default; the caller bounds the size of the body.
type Limits struct {
	Events int // in one webhook; more are refused. Default 1000
	Depth  int // of objects and arrays within each other; deeper bodies are refused. Default 100
	// What is longer is cut, in characters: Slack shows less still.
	Title  int // default 1000
	Text   int // default 12000
	Labels int // how many; default 64
	Label  int // default 1000
	// Event is the most bytes of an event, encoded; a longer one is kept as plain text that is cut. Default 32 KiB, at least
	// MinEvent.
	Event int
}

// MinEvent is the least that an event may be bounded to, in bytes.
const MinEvent = 8 << 10

// DefaultLimits are the limits of a decoder that was given none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

func (l Limits) withDefaults() Limits {
	return Limits{
		Events: cmp.Or(l.Events, 1000), Depth: cmp.Or(l.Depth, 100), Title: cmp.Or(l.Title, 1000), Text: cmp.Or(l.Text, 12_000),
		Labels: cmp.Or(l.Labels, 64), Label: cmp.Or(l.Label, 1000),
		Event: max(cmp.Or(l.Event, 32<<10), MinEvent),
	}
}

// Bounds that are the same everywhere, in characters.
const (
	maxLabelName = 200
	maxURL       = 2000
	maxID        = 256
	maxLinks     = 10
)

// bound cuts what is too long.
func (e *Event) bound(l Limits) {
	e.Title, e.Text, e.Note = cut(e.Title, l.Title), cut(e.Text, l.Text), cut(e.Note, l.Label)
	e.Fingerprint = cut(e.Fingerprint, maxID)
	e.Links = e.Links[:min(len(e.Links), maxLinks)]
	for i := range e.Links {
		e.Links[i].Title = cut(e.Links[i].Title, maxLabelName)
	}
	if e.Slack != nil {
		e.Slack.Text, e.Slack.Thread, e.Slack.TS = cut(e.Slack.Text, l.Text), cut(e.Slack.Thread, maxID), cut(e.Slack.TS, maxID)
	}
	if e.labelsFit(l) {
		return
	}
	all := e.Labels
	e.Labels = nil
	for i, name := range sortedKeys(all) {
		if i == l.Labels {
			break
		}
		e.setLabel(cut(name, maxLabelName), cut(all[name], l.Label))
	}
}

// labelsFit tells whether the labels can stay as they are.
func (e *Event) labelsFit(l Limits) bool {
	if len(e.Labels) > l.Labels {
		return false
	}
	for name, value := range e.Labels {
		if value == "" || len(name) > maxLabelName || len(value) > l.Label {
			return false
		}
	}
	return true
}
