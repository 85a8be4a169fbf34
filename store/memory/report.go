package memory

import (
	"context"

	"slackrelay/store"
)

// Report implements [Limiter].
func (m *Store) Report(_ context.Context, scope store.Channel) (store.Report, error) {
	var report store.Report
	names := scope.Keys()
	m.data.Do(func(tx *Tx) {
		box := Look[Queue](tx, names.Outbox())
		var pending int64
		if head := box.Head(); head != nil {
			pending = int64(len(box.Entries))
			report.Oldest = store.Microseconds(tx.Now - head.At)
		}
		report.Ledger = store.ParseLedger(Look[Counts](tx, names.Ledger()).All(), pending)
		pause := LookOrNew[Pause](tx, names.Pause())
		switch {
		case pause.Until > tx.Now:
			report.PausedFor, report.PauseReason = store.Microseconds(pause.Until-tx.Now), pause.Reason
		case pause.Settling > tx.Now:
			report.PausedFor, report.PauseReason = store.Microseconds(pause.Settling-tx.Now), store.ReasonAwaitingLookup
		}
	})
	return report, nil
}
