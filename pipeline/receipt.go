package pipeline

import (
	"time"

	"slackrelay/events"
	"slackrelay/store"
)

// Receipt says what became of a webhook's events. It is the reply to the sender.
type Receipt struct {
	Received  int            `json:"received"`
	Admitted  int            `json:"admitted"`
	Dropped   int            `json:"dropped"`
	Duplicate int            `json:"duplicate"`
	Muted     int            `json:"muted"`
	Merged    int            `json:"merged"`
	Delayed   int            `json:"delayed"`
	Forced    int            `json:"forced,omitempty"` // of those admitted: past the limits
	Durable   bool           `json:"durable"`          // false: what was admitted ends with this process
	Events    []EventReceipt `json:"events"`
}

// EventReceipt says what became of one event.
type EventReceipt struct {
	ID         string   `json:"id"`
	Category   string   `json:"category"`
	Outcome    string   `json:"outcome"`
	Level      string   `json:"level,omitempty"`       // on drops: the level that refused, or never, full, suppressed
	Channel    string   `json:"channel,omitempty"`     // where a rule sent it, or the lane; absent where it is the webhook's own
	By         string   `json:"by,omitempty"`          // on muted: the rule or the silence
	RetryAfter *float64 `json:"retry_after,omitempty"` // on drops, seconds; absent where it can never fit
}

func newReceipt(all []events.Event, decisions []store.Decision) Receipt {
	receipt := Receipt{Received: len(decisions), Durable: true, Events: make([]EventReceipt, len(decisions))}
	waits := make([]float64, len(decisions))
	for i, d := range decisions {
		receipt.Durable = receipt.Durable && d.Durable
		er := EventReceipt{ID: all[i].ID, Category: all[i].Category, Outcome: outcomeOf(d), Level: levelOf(d)}
		switch d.Outcome {
		case store.Admitted:
			receipt.Admitted++
		case store.Duplicate:
			receipt.Duplicate++
		case store.Dropped:
			receipt.Dropped++
			waits[i] = secondsOf(d.RetryAfter)
			er.RetryAfter = &waits[i]
		case store.Never, store.Suppressed, store.Full:
			receipt.Dropped++
		case store.Merged:
			receipt.Merged++
		case store.Delayed:
			receipt.Delayed++
		}
		receipt.Events[i] = er
	}
	return receipt
}

// add takes over what became of some of the events, by their places.
func (r *Receipt) add(some Receipt, places []int) {
	r.Received += some.Received
	r.Admitted += some.Admitted
	r.Dropped += some.Dropped
	r.Duplicate += some.Duplicate
	r.Merged += some.Merged
	r.Delayed += some.Delayed
	r.Durable = r.Durable && some.Durable
	for n, one := range some.Events {
		r.Events[places[n]] = one
	}
}

// secondsOf writes a time of whole microseconds without the noise of a division by 1e9.
func secondsOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// outcomeOf is the word for a decision in receipts and metrics.
func outcomeOf(d store.Decision) string {
	if d.Outcome.Drops() {
		return store.Dropped.String()
	}
	return d.Outcome.String()
}

// levelOf is the level or reason of a drop, "" for any other outcome.
func levelOf(d store.Decision) string {
	switch d.Outcome {
	case store.Dropped:
		return d.Level
	case store.Never, store.Suppressed, store.Full:
		return d.Outcome.String()
	case store.Admitted, store.Duplicate, store.Merged, store.Delayed:
	}
	return ""
}
