package redis

import (
	"context"
	"crypto/rand"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Heartbeat implements [store.Replication].
func (r *Store) Heartbeat(ctx context.Context, beat store.Heartbeat) (store.HeartbeatReply, error) {
	ended := 0
	if beat.Ended {
		ended = 1
	}
	epoch := rand.Text() // for a store that has none
	args := []any{beat.Replica, beat.TTL.Microseconds(), epoch, ended, beat.Digest, beat.Text}
	for _, digest := range beat.Known {
		args = append(args, digest)
	}
	reply, err := r.run(ctx, lua.Heartbeat, []string{lua.Alive, lua.Epoch, lua.Levels, lua.Texts}, args...)
	if err != nil {
		return store.HeartbeatReply{}, fmt.Errorf("heartbeat: %w", err)
	}
	decoded, err := decodeHeartbeat(reply)
	if err != nil {
		return store.HeartbeatReply{}, fmt.Errorf("heartbeat: %w: %w", ratelimit.ErrUnavailable, err)
	}
	return decoded, nil
}

// decodeHeartbeat reads the reply of lua/heartbeat.lua: [now, alive, epoch, missing, others].
func decodeHeartbeat(reply []any) (store.HeartbeatReply, error) {
	if len(reply) != 5 {
		return store.HeartbeatReply{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers([]any{reply[1], reply[3]})
	if err != nil {
		return store.HeartbeatReply{}, err
	}
	decoded := store.HeartbeatReply{Alive: numbers[0], TextMissing: numbers[1] == 1, Others: map[string]string{}}
	decoded.Epoch, _ = reply[2].(string)
	others, _ := reply[4].([]any)
	for i := 0; i+1 < len(others); i += 2 {
		digest, _ := others[i].(string)
		decoded.Others[digest], _ = others[i+1].(string)
	}
	return decoded, nil
}
