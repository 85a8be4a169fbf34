package redis

import (
	"context"
	"encoding/json"

	"slackrelay/store"
)

// Restore implements [store.Replication].
func (r *Store) Restore(ctx context.Context, channel store.Channel, requests []store.Request, id store.MergeID) error {
	_, err := r.decide(ctx, store.ModeRestore, decideCall{channel: channel, requests: requests, id: id})
	return err
}

// encodeResult returns what happened to a request, as JSON; nil = nothing is known of it.
func encodeResult(request *store.Request) []byte {
	if request.Result == nil {
		return nil
	}
	encoded, err := json.Marshal(request.Result.OutageResult)
	if err != nil { // strings and numbers always encode
		return nil
	}
	return encoded
}
