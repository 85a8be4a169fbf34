package memory

import (
	"cmp"
	"context"

	"slackrelay/store"
)

// Restore implements [store.Replication]. It is the twin of lua/restore.lua.
func (s *Store) Restore(_ context.Context, channel store.Channel, requests []store.Request, id store.MergeID) error {
	if err := store.Check(store.ModeRestore, requests); err != nil {
		return err
	}
	s.data.Do(func(tx *Tx) {
		if noteMerge(tx, channel.Keys(), id) {
			s.newBatch(tx, store.ModeRestore, channel, requests).run(requests)
		}
	})
	return nil
}

// resultOf returns the result of a request that is restored; "" = it waits, or it is not restored but decided now.
func (b *batch) resultOf(r *store.Request) string {
	if b.plan.Mode != store.ModeRestore {
		return ""
	}
	if r.Enqueue == nil {
		return cmp.Or(r.OutageResult().Result, store.Delivered)
	}
	return r.OutageResult().Result
}

// spendsUnits reports whether a request spends its units. A restored message that certainly never appeared spends none.
func (b *batch) spendsUnits(r *store.Request) bool {
	return b.plan.Mode != store.ModeRestore || r.OutageResult().KeepsSlot()
}
