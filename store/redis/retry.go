package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Retry implements [store.Queue].
func (r *Store) Retry(ctx context.Context, channel store.Channel, entry store.Entry, plan store.RetryPlan) error {
	fault := 0
	if plan.Fault {
		fault = 1
	}
	k := channel.Keys()
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Pause(), lua.DueIndex}
	return r.runFenced(ctx, "retry", lua.Retry, channel, keys,
		r.opts.Owner, entry.Number, entry.AdmittedAt, entry.Attempts+1,
		plan.Wait.Microseconds(), plan.Reason, fault, plan.WaitsOrDefault(), plan.StateOrDefault())
}
