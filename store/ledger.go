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
	Forced     int64 `json:"forced"` // of those admitted: posted past the limits by hand
}

// Imbalance is by how much the two identities are off, added up; 0 in a healthy ledger:
//
//	received = admitted + dropped + duplicate + muted + merged + delayed
//	admitted = delivered + failed + expired + superseded + pending
func (l Ledger) Imbalance() int64 {
	intake := l.Received - (l.Admitted + l.Dropped + l.Duplicate + l.Muted + l.Merged + l.Delayed)
	delivery := l.Admitted - (l.Delivered + l.Failed + l.Expired + l.Superseded + l.Pending)
	return max(intake, -intake) + max(delivery, -delivery)
}

func LedgerOf(counts map[string]int64, pending int64) Ledger {
	return Ledger{
		Received:   counts["received"],
		Admitted:   counts["admitted"],
		Dropped:    counts["dropped"],
		Duplicate:  counts["duplicate"],
		Muted:      counts["muted"],
		Merged:     counts["merged"],
		Delayed:    counts["delayed"],
		Delivered:  counts["delivered"],
		Failed:     counts["failed"],
		Expired:    counts["expired"],
		Superseded: counts["superseded"],
		Pending:    pending,
		Forced:     counts["forced"],
	}
}

// Report is the state of a channel, read in one instant.
type Report struct {
	Ledger      Ledger
	Oldest      time.Duration // age of the oldest message in the outbox; 0 when there is none
	PausedFor   time.Duration // 0 when the channel is not paused
	PauseReason string        // [Settling], or why its sender paused it
}

// Settling is why a channel waits whose next message may have been posted: it is too early to look.
const ReasonAwaitingLookup = "settling"
