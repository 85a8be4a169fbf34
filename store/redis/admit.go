package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// Admit implements [store.Admissions].
func (r *Store) Admit(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := r.checkAndDecide(ctx, store.ModeAdmit, channel, requests)
	return answer.Decisions, err
}

// Decide implements [store.Replication]. The requests are those that [store.Check] found to be valid.
func (r *Store) Decide(
	ctx context.Context, mode store.Mode, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	return r.decide(ctx, decideCall{plan: store.NewPlan(mode, requests), channel: channel, requests: requests})
}

func (r *Store) checkAndDecide(
	ctx context.Context, mode store.Mode, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	if err := store.Check(requests); err != nil {
		return store.Answer{}, err
	}
	return r.Decide(ctx, mode, channel, requests)
}

// scripts are those that decide requests.
var scripts = map[store.Mode]*redis.Script{
	store.ModeAdmit:   lua.Admit,
	store.ModePeek:    lua.Peek,
	store.ModePromote: lua.Promote,
	store.ModeForce:   lua.Force,
	store.ModeRestore: lua.Restore,
}

// decide runs the script of the plan's mode.
func (r *Store) decide(ctx context.Context, c decideCall) (store.Answer, error) {
	reply, err := r.run(ctx, scripts[c.plan.Mode], c.keys(r.redisTime()), c.args(r.opts.Dedupe)...)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w", c.plan.Mode, c.channel.Name, err)
	}
	answer, err := decodeAnswer(c.plan, c.requests, reply)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w: %w", c.plan.Mode, c.channel.Name, store.ErrUnavailable, err)
	}
	if answer.Now > 0 {
		r.ahead.Store(answer.Now - r.opts.Now().UnixMicro())
	}
	if answer.Stepped > 0 && c.plan.Mode != store.ModePeek { // a peek writes nothing, and would report the step again
		r.opts.ClockStepped(c.channel.Name, store.Microseconds(answer.Stepped))
	}
	return answer, nil
}
