package memory

import (
	"context"

	"slackrelay/store"
)

// heartbeat implements [engine]: this process is alone, and its data ends with it.
func (*Store) Heartbeat(context.Context, store.Heartbeat) (store.HeartbeatReply, error) {
	return store.HeartbeatReply{Alive: 1, Epoch: "memory"}, nil
}
