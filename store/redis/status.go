package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// statusesAtOnce is how many calls of a script one round trip has: Redis serves nobody else during these, about 2 ms.
const statusesAtOnce = 100

// Statuses implements [store.Counts].
func (r *Store) Statuses(ctx context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error) {
	all := make([]store.ChannelStatus, 0, len(queries))
	for some := range slices.Chunk(queries, statusesAtOnce) {
		calls := make([]lua.Call, len(some))
		for i := range some {
			calls[i] = statusCall(&some[i], r.redisTime())
		}
		for i, reply := range lua.RunAll(ctx, r.scripter.Scripter, lua.Report, calls) {
			values, err := reply.Slice()
			if err != nil {
				err = scriptError(lua.WrongType(ctx, r.scripter, calls[i].Keys, err))
				return nil, fmt.Errorf("status of channel %s: %w", some[i].Channel.Name, err)
			}
			status, err := decodeStatus(&some[i].Level, values)
			if err != nil {
				return nil, fmt.Errorf("status of channel %s: %w: %w", some[i].Channel.Name, ratelimit.ErrUnavailable, err)
			}
			all = append(all, status)
		}
	}
	return all, nil
}

// statusCall returns the call of lua/report.lua for a query; hour is a time within the current hour.
func statusCall(q *store.StatusQuery, hour time.Time) lua.Call {
	k, level := q.Channel.Keys(), &q.Level
	shadow := 0
	if level.Shadow {
		shadow = 1
	}
	args := append(make([]any, 0, 5+2*len(level.Windows)),
		level.Name, q.Longest.Microseconds(), level.Strategy.Tag(), level.Option(), shadow)
	for _, w := range level.Windows {
		args = append(args, w.Limit, w.Per.Microseconds())
	}
	return lua.Call{
		Keys: append(reportKeys(q.Channel), k.Windows(), k.Minutes(hour), k.Minutes(hour.Add(-time.Hour)), level.Key),
		Args: args,
	}
}

// decodeStatus reads the reply of lua/report.lua with a level.
func decodeStatus(level *ratelimit.Level, reply []any) (store.ChannelStatus, error) {
	report, err := decodeReport(reply)
	if err != nil {
		return store.ChannelStatus{}, err
	}
	if len(reply) != 6 {
		return store.ChannelStatus{}, fmt.Errorf("reply of %d values", len(reply))
	}
	numbers, err := nested(reply[5], 3+len(level.Windows))
	if err != nil {
		return store.ChannelStatus{}, err
	}
	retryAfter := time.Duration(-1)
	if numbers[2] >= 0 {
		retryAfter = store.Microseconds(numbers[2])
	}
	request := ratelimit.Request{Levels: []ratelimit.Level{*level}}
	decision := ratelimit.Decision{
		RetryAfter: retryAfter, Remaining: request.Remaining(func(int) []int64 { return numbers[3:] }),
	}
	return store.ChannelStatus{
		Report: report, Usage: decision.Usage(), Warming: store.Microseconds(numbers[1]), Active: numbers[0] == 1,
	}, nil
}
