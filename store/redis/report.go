package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Report implements [store.Counts].
func (r *Store) Report(ctx context.Context, channel store.Channel) (store.Report, error) {
	reply, err := r.run(ctx, lua.Report, reportKeys(channel))
	if err != nil {
		return store.Report{}, fmt.Errorf("report of channel %s: %w", channel.Name, err)
	}
	report, err := decodeReport(reply)
	if err != nil {
		return store.Report{}, fmt.Errorf("report of channel %s: %w: %w", channel.Name, ratelimit.ErrUnavailable, err)
	}
	return report, nil
}

func reportKeys(channel store.Channel) []string {
	k := channel.Keys()
	return []string{k.Ledger(), k.Outbox(), k.Entries(), k.Pause()}
}

// decodeReport reads the reply of lua/report.lua without a level.
func decodeReport(reply []any) (store.Report, error) {
	if len(reply) < 5 {
		return store.Report{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers(reply[:3])
	if err != nil {
		return store.Report{}, err
	}
	reason, _ := reply[3].(string)
	ledger, _ := reply[4].([]any)
	totals, err := counts(ledger)
	if err != nil {
		return store.Report{}, err
	}
	return store.Report{
		Ledger:      store.ParseLedger(totals, numbers[0]),
		Held:        totals["held"],
		Oldest:      store.Microseconds(numbers[1]),
		PausedFor:   store.Microseconds(numbers[2]),
		PauseReason: reason,
	}, nil
}
