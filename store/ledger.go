package store

import (
	"time"
)

// Ledger holds the totals of a channel. Each is counted in the same atomic step as what it counts, and Pending is the
// length of the queue: no total is derived from the others.
type Ledger struct {
	Received   int64 `json:"received"`
	Admitted   int64 `json:"admitted"`
	Dropped    int64 `json:"dropped"`
	Duplicate  int64 `json:"duplicate"`
	Muted      int64 `json:"muted"`
	Merged     int64 `json:"merged"`
	Delayed    int64 `json:"delayed"`
	Delivered  int64 `json:"delivered"`
	Failed     int64 `json:"failed"`
	Expired    int64 `json:"expired"`
	Superseded int64 `json:"superseded"`
	Pending    int64 `json:"pending"`
	Forced     int64 `json:"forced"` // of Admitted: those that an operator forced past the limits
}

// total is one count of a ledger, and its name in the stores.
type total struct {
	name  string
	value *int64
}

// intake returns the outcomes of received events: Received is their sum.
func (l *Ledger) intake() []total {
	return []total{
		{"admitted", &l.Admitted},
		{"dropped", &l.Dropped},
		{"duplicate", &l.Duplicate},
		{"muted", &l.Muted},
		{"merged", &l.Merged},
		{"delayed", &l.Delayed},
	}
}

// delivery returns how admitted events ended: Admitted is the sum of these and Pending.
func (l *Ledger) delivery() []total {
	return []total{
		{"delivered", &l.Delivered},
		{"failed", &l.Failed},
		{"expired", &l.Expired},
		{"superseded", &l.Superseded},
	}
}

// Imbalance returns by how much the two identities of a ledger are off, added up; 0 in a healthy one:
//
//	received = admitted + dropped + duplicate + muted + merged + delayed
//	admitted = delivered + failed + expired + superseded + pending
func (l Ledger) Imbalance() int64 {
	intake := l.Received
	delivery := l.Admitted - l.Pending
	for _, t := range l.intake() {
		intake -= *t.value
	}
	for _, t := range l.delivery() {
		delivery -= *t.value
	}
	return max(intake, -intake) + max(delivery, -delivery)
}

// ParseLedger returns the ledger from the counts in a store, and the number of messages in the queue.
func ParseLedger(counts map[string]int64, pending int64) Ledger {
	l := Ledger{Received: counts["received"], Forced: counts["forced"], Pending: pending}
	for _, t := range append(l.intake(), l.delivery()...) {
		*t.value = counts[t.name]
	}
	return l
}

// Report is the state of a channel in one instant.
type Report struct {
	Ledger      Ledger
	Held        int64         // of Ledger.Delayed: events that wait in a document of their problem, and not for a slot
	Oldest      time.Duration // age of the oldest message in the queue; 0 = it is empty
	PausedFor   time.Duration // 0 = the channel is not paused
	PauseReason string        // [ReasonAwaitingLookup], or why its sender or an operator paused it
}

// ReasonAwaitingLookup is the reason of a pause while the next message may have been posted, and it is too early to search
// Slack for it.
const ReasonAwaitingLookup = "settling"
