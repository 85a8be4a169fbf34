package redis

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// Retry implements [Outbox].
func (r *Store) Retry(ctx context.Context, channel store.Channel, entry store.Entry, p store.RetryPlan) error {
	k, fault := channel.Keys(), 0
	if p.Fault {
		fault = 1
	}
	keys := []string{k.Lease(), k.Outbox(), k.Extras(), k.Entries(), k.Pause()}
	return r.fenced(ctx, "retry", lua.Retry, channel, keys,
		r.opts.Owner, entry.Number, entry.AdmittedAt, entry.Attempts+1, p.Wait.Microseconds(), p.Reason, fault, p.WaitsOrDefault(), p.StateOrDefault())
}
