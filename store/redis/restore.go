package redis

import (
	"context"
	"encoding/json"

	"slackrelay/store"
)

// restore implements [engine].
func (r *Store) Restore(ctx context.Context, scope store.Channel, requests []store.Request, f store.MergeID) error {
	if err := store.Check(requests); err != nil {
		return err
	}
	_, err := r.call(ctx, store.NewPlan(store.ModeRestore, requests), scope, requests, f)
	return err
}

// pastJSON is what became of a request as lua/admit.lua reads it.
func pastText(r *store.Request) []byte {
	if r.Result == nil {
		return nil
	}
	encoded, err := json.Marshal(r.Result.OutageResult)
	if err != nil { // strings and numbers
		return nil
	}
	return encoded
}
