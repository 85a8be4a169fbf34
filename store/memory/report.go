package memory

import (
	"context"

	"slackrelay/store"
)

// Report implements [store.Counts]. It is the twin of lua/report.lua without a level.
func (s *Store) Report(_ context.Context, channel store.Channel) (report store.Report, err error) {
	s.do(channel, func(tx channelTx) { report = tx.report() })
	return report, nil
}

func (tx channelTx) report() (report store.Report) {
	outbox, paused := tx.outbox(), tx.pause()
	if head := outbox.head(); head != nil {
		report.Oldest = store.Microseconds(tx.now - head.at)
	}
	report.Ledger = store.ParseLedger(tx.ledger(), int64(len(outbox.messages)))
	report.Held = tx.ledger()["held"]
	switch {
	case paused.until > tx.now:
		report.PausedFor = store.Microseconds(paused.until - tx.now)
		report.PauseReason = paused.reason
	case paused.lookupUntil > tx.now:
		report.PausedFor = store.Microseconds(paused.lookupUntil - tx.now)
		report.PauseReason = store.ReasonAwaitingLookup
	}
	return report
}
