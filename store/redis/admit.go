package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Admit implements [store.Admissions].
func (r *Store) Admit(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := r.checkAndDecide(ctx, store.ModeAdmit, channel, requests)
	return answer.Decisions, err
}

// Decide implements [store.Replication].
func (r *Store) Decide(
	ctx context.Context, mode store.Mode, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	return r.checkAndDecide(ctx, mode, channel, requests)
}

func (r *Store) checkAndDecide(
	ctx context.Context, mode store.Mode, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	if err := store.Check(requests); err != nil {
		return store.Answer{}, err
	}
	return r.decide(ctx, decideCall{plan: store.NewPlan(mode, requests), channel: channel, requests: requests})
}

// decide runs the script of the plan's mode.
func (r *Store) decide(ctx context.Context, c decideCall) (store.Answer, error) {
	reply, err := r.run(ctx, lua.Admit, c.keys(r.redisTime()), c.args(r.opts.Dedupe)...)
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
