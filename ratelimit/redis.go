package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// RedisOptions configure a Redis engine.
type RedisOptions struct {
	// Dedupe is how long an admitted id is remembered. Default 1 h.
	Dedupe time.Duration
	// Now names the hour's series before the first answer of Redis told its time; it takes part in no
	// decision. Default time.Now.
	Now func() time.Time
}

// Redis is the engine that any number of processes share. The client must not retry by itself: a repeat
// of a call that was committed would count its refusals twice (redis.Options.MaxRetries = -1).
type Redis struct {
	scripter redis.Scripter
	dedupe   time.Duration
	now      func() time.Time
	ahead    atomic.Int64 // Redis's clock less ours, microseconds
}

var _ Limiter = (*Redis)(nil)

// NewRedis makes a Redis engine.
func NewRedis(scripter redis.Scripter, opts RedisOptions) *Redis {
	if opts.Dedupe == 0 {
		opts.Dedupe = DefaultDedupe
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Redis{scripter: scripter, dedupe: opts.Dedupe, now: opts.Now}
}

// Durable is true: Redis outlives the process.
func (*Redis) Durable() bool { return true }

// Ping asks Redis for a script it need not have; any answer will do.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.scripter.ScriptExists(ctx, lua.Admit.Hash()).Err(); err != nil {
		return fmt.Errorf("ping: %w: %w", ErrUnavailable, err)
	}
	return nil
}

// Admit implements [Limiter].
func (r *Redis) Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	if err := check(requests); err != nil {
		return nil, err
	}
	keys, args := r.admitCall(scope, requests)
	reply, err := run(ctx, r.scripter, lua.Admit, keys, args)
	if err != nil {
		return nil, fmt.Errorf("admit to channel %s: %w", scope.Channel, err)
	}
	decisions, now, err := decodeAdmit(requests, reply)
	if err != nil {
		return nil, fmt.Errorf("admit to channel %s: %w: %w", scope.Channel, ErrUnavailable, err)
	}
	r.ahead.Store(now - r.now().UnixMicro())
	return decisions, nil
}

// admitCall lays out KEYS and ARGV as the header of lua/admit.lua says. Levels that several requests
// share are named once.
func (r *Redis) admitCall(scope Scope, requests []Request) ([]string, []any) {
	names := scope.keys()
	keys := []string{names.Seen(), names.Ledger(), names.Series(r.redisTime()), names.Outbox(), names.Entries()}
	args := []any{r.dedupe.Microseconds()}
	places := map[string]int{}
	for _, request := range requests {
		for _, level := range request.Levels {
			if places[level.Key] == 0 {
				places[level.Key] = len(places) + 1
				keys = append(keys, level.Key)
				args = appendWindows(args, level)
			}
		}
	}
	for _, request := range requests {
		var kind, payload any = "", ""
		if request.Enqueue != nil {
			kind, payload = string(request.Enqueue.Kind), request.Enqueue.Payload
		}
		args = append(args, request.ID, request.units(), request.Category, kind, payload, len(request.Levels))
		for _, level := range request.Levels {
			args = append(args, places[level.Key])
		}
	}
	return keys, args
}

func appendWindows(args []any, level Level) []any {
	args = append(args, len(level.Windows))
	for _, w := range level.Windows {
		args = append(args, w.Limit, w.Per.Microseconds())
	}
	return args
}

// decodeAdmit reads the flat reply of lua/admit.lua.
func decodeAdmit(requests []Request, reply []any) ([]Decision, int64, error) {
	numbers, err := integers(reply)
	if err != nil {
		return nil, 0, err
	}
	if len(numbers) != 1+3*len(requests) {
		return nil, 0, fmt.Errorf("reply of %d numbers to %d requests", len(numbers), len(requests))
	}
	decisions := make([]Decision, len(requests))
	for i, request := range requests {
		outcome, refused, retry := Outcome(numbers[1+3*i]), numbers[2+3*i], numbers[3+3*i]
		if outcome < Admitted || outcome > Never {
			return nil, 0, fmt.Errorf("reply holds the unknown outcome %d", outcome)
		}
		d := Decision{Outcome: outcome, RetryAfter: time.Duration(retry) * time.Microsecond, DecidedBy: ByRedis}
		d.refusedBy(request, refused)
		decisions[i] = d
	}
	return decisions, numbers[0], nil
}

// refusedBy names the levels whose bits are set.
func (d *Decision) refusedBy(request Request, bits int64) {
	for i, level := range request.Levels {
		if bits&(1<<i) != 0 {
			d.Refused = append(d.Refused, level.Name)
		}
	}
	if len(d.Refused) > 0 {
		d.Level = d.Refused[0]
	}
	if d.Outcome == Never {
		d.RetryAfter = -1
	}
}

// Peek implements [Limiter]. More than [MaxBatch] levels are asked for in several calls.
func (r *Redis) Peek(ctx context.Context, levels []Level) ([]Usage, error) {
	var all []Usage
	for len(levels) > 0 {
		n := min(len(levels), MaxBatch)
		usage, err := r.peek(ctx, levels[:n])
		if err != nil {
			return nil, fmt.Errorf("peek: %w", err)
		}
		all, levels = append(all, usage...), levels[n:]
	}
	return all, nil
}

func (r *Redis) peek(ctx context.Context, levels []Level) ([]Usage, error) {
	if err := checkLevels(levels); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	keys, args := make([]string, 0, len(levels)), make([]any, 0, 3*len(levels))
	var usage []Usage
	for _, level := range levels {
		keys, args = append(keys, level.Key), appendWindows(args, level)
		for _, w := range level.Windows {
			usage = append(usage, Usage{Level: level.Name, Window: w})
		}
	}
	reply, err := run(ctx, r.scripter, lua.Peek, keys, args)
	if err != nil {
		return nil, err
	}
	numbers, err := integers(reply)
	if err != nil || len(numbers) != 2*len(usage) {
		return nil, fmt.Errorf("%w: reply of %d numbers for %d windows: %w", ErrUnavailable, len(numbers), len(usage), err)
	}
	for i := range usage {
		usage[i].Used = numbers[2*i]
		usage[i].RetryAfter = time.Duration(numbers[2*i+1]) * time.Microsecond
	}
	return usage, nil
}

// Report implements [Limiter].
func (r *Redis) Report(ctx context.Context, scope Scope) (Report, error) {
	names := scope.keys()
	keys := []string{names.Ledger(), names.Outbox(), names.Entries(), names.Pause()}
	reply, err := run(ctx, r.scripter, lua.Report, keys, nil)
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %s: %w", scope.Channel, err)
	}
	if len(reply) < 4 {
		return Report{}, fmt.Errorf("report of channel %s: %w: reply of %d values", scope.Channel, ErrUnavailable, len(reply))
	}
	numbers, err := integers(reply[:3])
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %s: %w", scope.Channel, err)
	}
	counts, err := fields(reply[4:])
	if err != nil {
		return Report{}, fmt.Errorf("ledger of channel %s: %w", scope.Channel, err)
	}
	reason, _ := reply[3].(string)
	return Report{
		Ledger:      ledgerOf(counts, numbers[0]),
		Oldest:      time.Duration(numbers[1]) * time.Microsecond,
		PausedFor:   time.Duration(numbers[2]) * time.Microsecond,
		PauseReason: reason,
	}, nil
}

// Categories implements [Limiter].
func (r *Redis) Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error) {
	names, now := scope.keys(), r.redisTime()
	keys := make([]string, seriesHours)
	for i := range keys {
		keys[i] = names.Series(now.Add(-time.Duration(i) * time.Hour))
	}
	reply, err := run(ctx, r.scripter, lua.Series, keys, nil)
	if err != nil {
		return nil, fmt.Errorf("categories of channel %s: %w", scope.Channel, err)
	}
	counts, err := fields(reply)
	if err != nil {
		return nil, fmt.Errorf("categories of channel %s: %w", scope.Channel, err)
	}
	return categoriesOf(counts), nil
}

func (r *Redis) redisTime() time.Time {
	return r.now().Add(time.Duration(r.ahead.Load()) * time.Microsecond)
}

// run runs a script that answers an array. An argument error of the script means that nothing was
// written; every other error leaves that open.
func run(ctx context.Context, s redis.Scripter, script *redis.Script, keys []string, args []any) ([]any, error) {
	reply, err := script.Run(ctx, s, keys, args...).Slice()
	var answered redis.Error
	switch {
	case err == nil:
		return reply, nil
	case errors.As(err, &answered) && strings.HasPrefix(answered.Error(), "ARG "):
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	default:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}
