package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Report implements [Limiter].
func (r *Store) Report(ctx context.Context, scope store.Channel) (store.Report, error) {
	names := scope.Keys()
	keys := []string{names.Ledger(), names.Outbox(), names.Entries(), names.Pause()}
	reply, err := run(ctx, r.scripter, lua.Report, keys, nil)
	if err != nil {
		return store.Report{}, fmt.Errorf("report of channel %s: %w", scope.Name, err)
	}
	report, err := decodeReport(reply)
	if err != nil {
		return store.Report{}, fmt.Errorf("report of channel %s: %w: %w", scope.Name, store.ErrUnavailable, err)
	}
	return report, nil
}

// decodeReport reads the reply of lua/report.lua.
func decodeReport(reply []any) (store.Report, error) {
	if len(reply) < 4 {
		return store.Report{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers(reply[:3])
	if err != nil {
		return store.Report{}, err
	}
	counts, err := fields(reply[4:])
	if err != nil {
		return store.Report{}, err
	}
	reason, _ := reply[3].(string)
	return store.Report{
		Ledger:      store.ParseLedger(counts, numbers[0]),
		Oldest:      store.Microseconds(numbers[1]),
		PausedFor:   store.Microseconds(numbers[2]),
		PauseReason: reason,
	}, nil
}
