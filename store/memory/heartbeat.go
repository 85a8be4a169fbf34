package memory

import (
	"context"

	"slackrelay/store"
)

// Heartbeat implements [store.Replication]. Unlike lua/heartbeat.lua, it knows of no other replica: this process is alone, and
// its data is lost with it.
func (*Store) Heartbeat(context.Context, store.Heartbeat) (store.HeartbeatReply, error) {
	return store.HeartbeatReply{Alive: 1, Epoch: "memory"}, nil
}
