package simulation

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"slackrelay/events"
)

// line is one line of a trace file: a generic event with its time, its sender and its webhook.
type line struct {
	At          any               `json:"at"` // seconds since the beginning, or RFC 3339
	ID          string            `json:"id,omitempty"`
	Category    string            `json:"category"`
	Title       string            `json:"title,omitempty"`
	Severity    string            `json:"severity,omitempty"`
	Status      string            `json:"status,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Sender      string            `json:"sender,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Webhook     string            `json:"webhook,omitempty"` // the same for events that arrived together
	Group       string            `json:"group,omitempty"`   // of the sender
}

// maxLine is the length of the longest line, in bytes.
const maxLine = 1 << 20

// ReadTrace reads a trace as [WriteTrace] writes it: one generic event with "at" on each line, in any order. It skips empty
// lines. If "at" is a date, times count from the earliest one. The error names the line.
func ReadTrace(in io.Reader) (Trace, error) {
	var trace Trace
	names, dated := map[string]string{}, 0
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		e, date, err := parseLine(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if date {
			dated++
		}
		if kept, ok := names[e.Category]; ok {
			e.Category = kept // share one string
		} else {
			names[e.Category] = e.Category
		}
		trace = append(trace, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	if dated > 0 && dated < len(trace) {
		return nil, fmt.Errorf("at is a date on some lines and seconds on others; use one of them")
	}
	trace.Sort()
	if dated > 0 {
		trace.FromZero()
	}
	return trace, nil
}

// Sort sorts by time and is stable. It sorts the indexes and then moves each event once, because events are large.
func (t Trace) Sort() {
	type place struct {
		at time.Duration
		i  int
	}
	places := make([]place, len(t))
	for i := range t {
		places[i] = place{t[i].At, i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i)) })
	for i := range places { // the first index of each cycle of moves does the whole cycle
		moved, to := t[i], i
		for {
			from := places[to].i
			places[to].i = to
			if from == i {
				t[to] = moved
				break
			}
			t[to], to = t[from], from
		}
	}
}

// FromZero shifts the times of a sorted trace so that the first event is at 0.
func (t Trace) FromZero() {
	for i := len(t) - 1; i >= 0; i-- {
		t[i].At -= t[0].At
	}
}

// parseLine parses a line. If date is true, its time is a date, as the time since 2000.
func parseLine(text []byte) (e Event, date bool, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Event{}, false, fmt.Errorf("it is not a JSON object with at, category and the other fields of an event: %w", err)
	}
	e = Event{
		ID: l.ID, Category: events.NormalizeCategory(l.Category), Sender: l.Sender, Severity: events.SeverityOf(l.Severity),
		Status: events.Status(l.Status), Fingerprint: l.Fingerprint, Labels: l.Labels, Webhook: l.Webhook, Group: l.Group,
	}
	if e.Status != "" && e.Status != events.Firing && e.Status != events.Resolved {
		return Event{}, false, fmt.Errorf("status is %q; write firing or resolved, or leave it out", l.Status)
	}
	switch at := l.At.(type) {
	case float64:
		e.At = time.Duration(at * float64(time.Second))
	case string:
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return Event{}, false, fmt.Errorf("at is %q; write seconds, or a time like 2026-11-20T07:00:00Z", at)
		}
		e.At, date = when.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), true
	default:
		return Event{}, false, fmt.Errorf("at is missing; write seconds, or a time like 2026-11-20T07:00:00Z")
	}
	if e.At < 0 {
		return Event{}, false, fmt.Errorf("at is %v; it must not be negative", l.At)
	}
	return e, date, nil
}

// WriteTrace writes a trace.
func WriteTrace(out io.Writer, trace Trace) error {
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	for _, e := range trace {
		if err := encoder.Encode(line{
			At: e.At.Seconds(), ID: e.ID, Category: e.Category, Title: e.Category, Severity: string(e.Severity), Status: string(e.Status),
			Fingerprint: e.Fingerprint, Sender: e.Sender, Labels: e.Labels, Webhook: e.Webhook, Group: e.Group,
		}); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
