package pipeline

import (
	"iter"
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Receipt reports the outcome of a webhook's events. It is the reply to the sender: its counts add up to Received.
type Receipt struct {
	Received  int            `json:"received"`
	Admitted  int            `json:"admitted"`
	Dropped   int            `json:"dropped"`
	Duplicate int            `json:"duplicate"`
	Muted     int            `json:"muted"`
	Merged    int            `json:"merged"`
	Delayed   int            `json:"delayed"`
	Forced    int            `json:"forced,omitempty"` // of those admitted: past the limits
	Durable   bool           `json:"durable"`          // false: what was admitted is lost when this process ends
	Events    []EventReceipt `json:"events"`
}

// EventReceipt reports the outcome of one event.
type EventReceipt struct {
	ID          string   `json:"id"`
	Category    string   `json:"category"`
	Outcome     string   `json:"outcome"`
	Level       string   `json:"level,omitempty"`       // of a drop: the level that refused it, or the reason ([store.Outcome.Reason])
	Explanation string   `json:"explanation,omitempty"` // of a drop with a reason, or of an event with By: why, in words
	Channel     string   `json:"channel,omitempty"`     // where a rule sent it, or the test lane; absent where it is the webhook's own
	By          string   `json:"by,omitempty"`          // the rule, silence, heartbeat or inhibition that mutes it, hold, or flapping
	RetryAfter  *float64 `json:"retry_after,omitempty"` // of a drop, in seconds; absent where it can never fit
}

// Counts yields the counts of the receipt by outcome, in the order of the API.
func (r *Receipt) Counts() iter.Seq2[string, int] {
	return func(yield func(outcome string, n int) bool) {
		for _, c := range r.counters() {
			if !yield(c.outcome, *c.n) {
				return
			}
		}
	}
}

// counter is the field of a receipt that counts an outcome.
type counter struct {
	outcome string
	n       *int
}

// counters lists the counts of a receipt, one for each outcome that people see.
func (r *Receipt) counters() [6]counter {
	return [...]counter{
		{store.Admitted.String(), &r.Admitted},
		{store.Dropped.String(), &r.Dropped},
		{store.Duplicate.String(), &r.Duplicate},
		{store.Muted.String(), &r.Muted},
		{store.Merged.String(), &r.Merged},
		{store.Delayed.String(), &r.Delayed},
	}
}

// count counts one event.
func (r *Receipt) count(o store.Outcome) {
	switch o.CountedAs() { //nolint:exhaustive // it is one of these
	case store.Admitted:
		r.Admitted++
	case store.Dropped:
		r.Dropped++
	case store.Duplicate:
		r.Duplicate++
	case store.Muted:
		r.Muted++
	case store.Merged:
		r.Merged++
	case store.Delayed:
		r.Delayed++
	}
}

// newReceipt returns the receipt of events with a decision each.
func newReceipt(all []events.Event, decisions []store.Decision) Receipt {
	receipt := Receipt{Received: len(decisions), Durable: true, Events: make([]EventReceipt, 0, len(decisions))}
	waits := make([]float64, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		receipt.count(d.Outcome)
		receipt.Durable = receipt.Durable && d.Durable
		event := EventReceipt{ID: all[i].ID, Category: all[i].Category, Outcome: outcomeOf(d), Level: levelOf(d)}
		switch {
		case d.Outcome == store.Dropped: // the other reasons to drop have no end
			waits[i] = secondsOf(d.RetryAfter)
			event.RetryAfter = &waits[i]
		case d.Outcome.Drops():
			event.Explanation = d.Outcome.Meaning()
		}
		receipt.Events = append(receipt.Events, event)
	}
	return receipt
}

// add includes the receipt of some of the webhook's events, which have these places in it.
func (r *Receipt) add(some Receipt, places []int) {
	r.Received += some.Received
	r.Durable = r.Durable && some.Durable
	counts := some.counters()
	for i, c := range r.counters() {
		*c.n += *counts[i].n
	}
	for i, event := range some.Events {
		r.Events[places[i]] = event
	}
}

// addMuted includes an event that was muted.
func (r *Receipt) addMuted(e *events.Event, place int, by string) {
	r.Received++
	r.Muted++
	r.Events[place] = EventReceipt{ID: e.ID, Category: e.Category, Outcome: store.Muted.String(), By: by}
}

// secondsOf returns a duration of whole microseconds in seconds, without the noise of a division by 1e9.
func secondsOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// outcomeOf returns the word for a decision in receipts, metrics and traces.
func outcomeOf(d *store.Decision) string { return d.Outcome.CountedAs().String() }

// levelOf returns the level that dropped an event, or the reason; "" for an event that was not dropped.
func levelOf(d *store.Decision) string {
	if d.Outcome == store.Dropped {
		return d.Level
	}
	return d.Outcome.Reason()
}
