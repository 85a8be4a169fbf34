package store

import (
	"time"
)

// Ledger holds the totals of a channel. Each is counted where it happens, in the same step as what it
// counts, and Pending is counted from the outbox itself: no term is derived from the others.
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
	Forced     int64 `json:"forced"` // of those admitted: posted past the limits by an operator
}

// total is one count of a ledger, under the name that the stores keep it by.
type total struct {
	name  string
	value *int64
}

// intake returns what received events end as: received is their sum.
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

// delivery returns what admitted events end as: admitted is the sum of these and Pending.
func (l *Ledger) delivery() []total {
	return []total{
		{"delivered", &l.Delivered},
		{"failed", &l.Failed},
		{"expired", &l.Expired},
		{"superseded", &l.Superseded},
	}
}

// Imbalance is by how much the two identities are off, added up; 0 in a healthy ledger:
//
//	received = admitted + dropped + duplicate + muted + merged + delayed
//	admitted = delivered + failed + expired + superseded + pending
func (l Ledger) Imbalance() int64 {
	intake, delivery := l.Received, l.Admitted-l.Pending
	for _, t := range l.intake() {
		intake -= *t.value
	}
	for _, t := range l.delivery() {
		delivery -= *t.value
	}
	return max(intake, -intake) + max(delivery, -delivery)
}

// LedgerOf reads a ledger from the counts that a store keeps, and the number of messages in the outbox.
func ParseLedger(counts map[string]int64, pending int64) Ledger {
	l := Ledger{Received: counts["received"], Forced: counts["forced"], Pending: pending}
	for _, t := range append(l.intake(), l.delivery()...) {
		*t.value = counts[t.name]
	}
	return l
}

// Report is the state of a channel, read in one instant.
type Report struct {
	Ledger      Ledger
	Oldest      time.Duration // age of the oldest message in the outbox; 0 when there is none
	PausedFor   time.Duration // 0 when the channel is not paused
	PauseReason string        // [ReasonAwaitingLookup], or why its sender or an operator paused it
}

// ReasonAwaitingLookup is the reason of a pause in which the next message may have been posted already, and it is too
// early to look it up.
const ReasonAwaitingLookup = "settling"
