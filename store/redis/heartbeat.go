package redis

import (
	"context"
	"crypto/rand"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// heartbeat implements [engine].
func (r *Store) Heartbeat(ctx context.Context, b store.Heartbeat) (store.HeartbeatReply, error) {
	ended := 0
	if b.Ended {
		ended = 1
	}
	args := []any{b.Replica, b.TTL.Microseconds(), rand.Text(), ended, b.Digest, b.Text}
	for _, digest := range b.Known {
		args = append(args, digest)
	}
	reply, err := run(ctx, r.scripter, lua.Heartbeat, []string{lua.Alive, lua.Epoch, lua.Levels, lua.Texts}, args)
	if err != nil {
		return store.HeartbeatReply{}, fmt.Errorf("heartbeat: %w", err)
	}
	p, err := decodePulse(reply)
	if err != nil {
		return store.HeartbeatReply{}, fmt.Errorf("heartbeat: %w: %w", store.ErrUnavailable, err)
	}
	return p, nil
}

// decodePulse reads the reply of lua/heartbeat.lua.
func decodePulse(reply []any) (store.HeartbeatReply, error) {
	if len(reply) != 5 {
		return store.HeartbeatReply{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := integers([]any{reply[1], reply[3]})
	if err != nil {
		return store.HeartbeatReply{}, err
	}
	p := store.HeartbeatReply{Alive: numbers[0], TextMissing: numbers[1] == 1, Others: map[string]string{}}
	p.Epoch, _ = reply[2].(string)
	others, _ := reply[4].([]any)
	for i := 0; i+1 < len(others); i += 2 {
		digest, _ := others[i].(string)
		p.Others[digest], _ = others[i+1].(string)
	}
	return p, nil
}
