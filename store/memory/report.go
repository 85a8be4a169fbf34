package memory

import (
	"context"

	"slackrelay/store"
)

// Report implements [store.Counts]. It is the twin of lua/report.lua.
func (s *Store) Report(_ context.Context, channel store.Channel) (store.Report, error) {
	var report store.Report
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		outbox := lookOrEmpty[queue](tx, keys.Outbox())
		if head := outbox.head(); head != nil {
			report.Oldest = store.Microseconds(tx.now - head.at)
		}
		report.Ledger = store.ParseLedger(Look[counts](tx, keys.Ledger()).all(), int64(len(outbox.messages)))
		paused := lookOrEmpty[pause](tx, keys.Pause())
		switch {
		case paused.until > tx.now:
			report.PausedFor = store.Microseconds(paused.until - tx.now)
			report.PauseReason = paused.reason
		case paused.lookupUntil > tx.now:
			report.PausedFor = store.Microseconds(paused.lookupUntil - tx.now)
			report.PauseReason = store.ReasonAwaitingLookup
		}
	})
	return report, nil
}
