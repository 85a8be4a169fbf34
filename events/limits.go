package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
)

// Limits bound the events of a webhook. A zero field means its default. The caller bounds the size of the body.
type Limits struct {
	Events int // events in one webhook; a webhook with more is an error. Default 1000.
	Depth  int // nesting of objects and arrays; a deeper body is an error. Default 100.
	Title  int // characters of a title; the rest is cut. Default 1000.
	Text   int // characters of a text; the rest is cut. Default 12000.
	Labels int // labels of an event; the rest is left out. Default 64.
	Label  int // characters of a label's value; the rest is cut. Default 1000.
	// Event is the size of an encoded event in bytes; a longer one is reduced to plain text and cut. Default 32 KiB, at
	// least [MinEvent].
	Event int
}

// MinEvent is the lowest value of Limits.Event, in bytes.
const MinEvent = 8 << 10

// DefaultLimits returns the limits of a decoder without limits of its own.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

func (l Limits) withDefaults() Limits {
	return Limits{
		Events: cmp.Or(l.Events, 1000), Depth: cmp.Or(l.Depth, 100), Title: cmp.Or(l.Title, 1000), Text: cmp.Or(l.Text, 12_000),
		Labels: cmp.Or(l.Labels, 64), Label: cmp.Or(l.Label, 1000),
		Event: max(cmp.Or(l.Event, 32<<10), MinEvent),
	}
}

// Fixed bounds: of texts in characters, of ids in bytes or characters, and of the number of links.
const (
	maxLabelName = 200
	maxURL       = 2000
	maxID        = 256
	maxLinks     = 10
)

// bound applies the limits to each field.
func (e *Event) bound(l Limits) {
	e.Title, e.Text, e.Note = cut(e.Title, l.Title), cut(e.Text, l.Text), cut(e.Note, l.Label)
	e.Fingerprint = cut(e.Fingerprint, maxID)
	if len(e.Group) > maxID {
		sum := sha256.Sum256([]byte(e.Group))
		e.Group = hex.EncodeToString(sum[:])
	}
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

// labelsFit reports whether the labels are within the limits as they are.
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
