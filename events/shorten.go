package events

import (
	"encoding/json"
	"unicode/utf8"
)

// Shares of the fields of a shortened event in its size, in 32nds. The rest is for names, ids and times.
const (
	textShare  = 12
	titleShare = 3
	noteShare  = 1
	labelShare = 4
	linkShare  = 4
	shares     = 32
)

// widest is the most bytes that one byte of a text takes in JSON: < is \u003c.
const widest = 6

// shorten reduces an event whose encoding is longer than limit bytes: first it removes blocks and attachments, whose text the
// event has as plain text too, then it cuts every field to its share.
func (e *Event) shorten(limit int) {
	size := e.size()
	if size*widest <= limit || size <= limit && e.encoded() <= limit {
		return
	}
	e.Shortened = max(size, e.Shortened)
	if e.Slack != nil {
		e.Slack.Text, e.Slack.Blocks, e.Slack.Attachments = "", nil, nil
	}
	if e.encoded() <= limit {
		return
	}
	part := limit / shares
	e.Text, e.Title, e.Note = fit(e.Text, textShare*part), fit(e.Title, titleShare*part), fit(e.Note, noteShare*part)
	e.shortenLabels(labelShare * part)
	left := linkShare * part
	for i, link := range e.Links {
		if left -= encodedSize(link.URL) + encodedSize(link.Title) + widest; left < 0 {
			e.Links = e.Links[:i]
			break
		}
	}
}

// shortenLabels cuts the labels so that together they take at most left bytes.
func (e *Event) shortenLabels(left int) {
	all, names := e.Labels, sortedKeys(e.Labels)
	e.Labels = nil
	for i, name := range names {
		most := left/(len(names)-i) - encodedSize(name) - widest
		if most < widest {
			continue
		}
		value := fit(all[name], most)
		e.setLabel(name, value)
		left -= encodedSize(name) + widest + encodedSize(value)
	}
}

// size returns the bytes of an event before encoding, at least.
func (e *Event) size() int {
	size := len(e.ID) + len(e.Title) + len(e.Text) + len(e.Note) + len(e.Fingerprint) + len(e.Category) + overhead
	for name, value := range e.Labels {
		size += len(name) + len(value) + widest
	}
	for _, link := range e.Links {
		size += len(link.Title) + len(link.URL) + 2*widest
	}
	if e.Slack != nil {
		size += len(e.Slack.Text) + len(e.Slack.Blocks) + len(e.Slack.Attachments) + len(e.Slack.Thread)
	}
	return size
}

// overhead is what an event takes beside its sender's text, in bytes.
const overhead = 512

// encoded returns the bytes that an event takes in the outbox.
func (e *Event) encoded() int {
	encoded, err := json.Marshal(e)
	if err != nil {
		return e.size() // the error shows when it is stored
	}
	return len(encoded) + overhead
}

// encodedSize returns the bytes that a text takes in JSON.
func encodedSize(text string) int {
	size := 0
	for _, r := range text {
		size += width(r)
	}
	return size
}

func width(r rune) int {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\':
		return 2
	case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		return widest
	default:
		return utf8.RuneLen(r)
	}
}

// fit cuts a text to at most so many bytes of JSON, with an ellipsis if something was removed.
func fit(text string, most int) string {
	most -= len("…")
	used, last := 0, 0
	for i, r := range text {
		if used <= most {
			last = i
		}
		if used += width(r); used > most+len("…") {
			return text[:last] + "…"
		}
	}
	return text
}
