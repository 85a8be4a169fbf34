package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Admit implements [store.Admissions].
func (r *Store) Admit(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return r.decide(ctx, store.ModeAdmit, decideCall{channel: channel, requests: requests})
}

// scripts are those that decide requests.
var scripts = map[store.Mode]*redis.Script{
	store.ModeAdmit:   lua.Admit,
	store.ModePeek:    lua.Peek,
	store.ModePromote: lua.Promote,
	store.ModeForce:   lua.Force,
	store.ModeRestore: lua.Restore,
}

// decide checks the requests of a call, plans it, and runs the script of the mode.
func (r *Store) decide(ctx context.Context, mode store.Mode, c decideCall) (store.Answer, error) {
	if err := store.Check(mode, c.requests); err != nil {
		return store.Answer{}, err
	}
	c.plan = store.NewPlan(mode, c.requests)
	reply, err := r.run(ctx, scripts[mode], c.keys(r.redisTime()), c.args(r.opts.Dedupe)...)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w", mode, c.channel.Name, err)
	}
	now, answer, err := decodeAnswer(c.plan, c.requests, reply)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w: %w", mode, c.channel.Name, ratelimit.ErrUnavailable, err)
	}
	if now > 0 {
		r.ahead.Store(now - r.opts.Now().UnixMicro())
	}
	if answer.Stepped > 0 && mode != store.ModePeek { // a peek writes nothing, and would report the step again
		r.opts.ClockStepped(c.channel.Name, answer.Stepped)
	}
	return answer, nil
}
