package ratelimit

import (
	"cmp"
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
	// Stepped is told when Redis's clock went back, and by how much. Default: nobody is told.
	Stepped func(channel string, by time.Duration)
}

// Redis is the engine that any number of processes share. The client must not retry by itself: a repeat
// of a call that was committed would count its refusals twice (redis.Options.MaxRetries = -1).
type Redis struct {
	scripter redis.Scripter
	opts     RedisOptions
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
	if opts.Stepped == nil {
		opts.Stepped = func(string, time.Duration) {}
	}
	return &Redis{scripter: scripter, opts: opts}
}

// Durable is true: Redis outlives the process.
func (*Redis) Durable() bool { return true }

// Ping tells whether the server that knows the replicas can be written to. On a Cluster, the shard of a channel
// may be away all the same.
func (r *Redis) Ping(ctx context.Context) error {
	if _, err := r.heartbeat(ctx, beat{keep: time.Hour}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Admit implements [Limiter].
func (r *Redis) Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	answer, err := r.decide(ctx, modeAdmit, scope, requests)
	return answer.decisions, err
}

// Peek implements [Limiter].
func (r *Redis) Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	answer, err := r.decide(ctx, modePeek, scope, requests)
	return answer.decisions, err
}

// Mute implements [Limiter].
func (r *Redis) Mute(ctx context.Context, scope Scope, n int64) error {
	if _, err := run(ctx, r.scripter, lua.Mute, []string{scope.keys().Ledger()}, []any{n}); err != nil {
		return fmt.Errorf("count what is muted in channel %s: %w", scope.Channel, err)
	}
	return nil
}

func (r *Redis) decide(ctx context.Context, m mode, scope Scope, requests []Request) (answer, error) {
	if err := check(requests); err != nil {
		return answer{}, err
	}
	return r.call(ctx, newPlan(m, requests), scope, requests, fold{})
}

func (r *Redis) call(ctx context.Context, p *plan, scope Scope, requests []Request, f fold) (answer, error) {
	keys, args := r.admitCall(p, scope, requests, f)
	reply, err := run(ctx, r.scripter, lua.Admit, keys, args)
	if err != nil {
		return answer{}, fmt.Errorf("%s to channel %s: %w", p.mode, scope.Channel, err)
	}
	a, err := decodeAdmit(p, requests, reply)
	if err != nil {
		return answer{}, fmt.Errorf("%s to channel %s: %w: %w", p.mode, scope.Channel, ErrUnavailable, err)
	}
	if a.now > 0 {
		r.ahead.Store(a.now - r.opts.Now().UnixMicro())
	}
	if a.stepped > 0 && p.mode != modePeek { // a peek moves nothing
		r.opts.Stepped(scope.Channel, micros(a.stepped))
	}
	return a, nil
}

// admitCall lays out KEYS and ARGV as the header of lua/admit.lua says.
func (r *Redis) admitCall(p *plan, scope Scope, requests []Request, f fold) ([]string, []any) {
	names := scope.keys()
	hour := r.redisTime()
	keys := append(make([]string, 0, 9+len(p.levels)), names.Seen(), names.Ledger(), names.Series(hour), names.Outbox(), names.Entries(), names.Minutes(hour))
	for _, level := range p.levels {
		keys = append(keys, level.Key)
	}
	if p.learning() {
		keys = append(keys, names.Known(), names.Heard())
	}
	if p.mode == modeRestore {
		keys = append(keys, names.Folds(), names.Dead())
	}
	if p.handling != nil {
		keys = append(keys, names.Extras(), names.Posted(), names.Aged(), names.Drops(), names.Digest(), names.Told(), names.Delayed())
	}
	args := append(make([]any, 0, 1+12*len(requests)), planText(p, r.opts.Dedupe.Microseconds(), f))
	for i := range requests {
		args = append(args, requests[i].ID, requests[i].units(), p.routeOf[i], entryText(&requests[i]))
		if p.handling != nil {
			e := &requests[i].Event
			args = append(args, e.Bundle, string(e.Status), e.Fingerprint, cmp.Or(e.Severity, "warning"), e.Title, requests[i].Delayed, e.Answers)
		}
		if p.mode == modeRestore {
			args = append(args, pastText(&requests[i]))
		}
	}
	return keys, args
}

// entry is what the outbox holds of a request, without the time of its admission.
func entryText(r *Request) []byte {
	if r.Enqueue == nil {
		return nil
	}
	entry := make([]byte, 0, len(r.Enqueue.Kind)+1+len(r.Enqueue.Payload))
	entry = append(entry, r.Enqueue.Kind...)
	entry = append(entry, ' ')
	return append(entry, r.Enqueue.Payload...)
}

// Refund implements [Limiter].
func (r *Redis) Refund(ctx context.Context, scope Scope, request Request) error {
	if err := check([]Request{request}); err != nil {
		return err
	}
	keys := []string{scope.keys().Seen(), scope.keys().Refunds()}
	args := []any{request.ID, request.units(), r.opts.Dedupe.Microseconds()}
	for _, level := range request.Levels {
		keys = append(keys, level.Key)
		args = append(args, level.Strategy.tag(), level.option(), len(level.Windows))
		for _, w := range level.Windows {
			args = append(args, w.Limit, w.Per.Microseconds())
		}
	}
	if err := lua.Refund.Run(ctx, r.scripter, keys, args...).Err(); err != nil {
		return fmt.Errorf("refund in channel %s: %w", scope.Channel, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}

// Reset implements [Limiter].
func (r *Redis) Reset(ctx context.Context, levels ...Level) error {
	for _, level := range levels {
		if err := lua.Reset.Run(ctx, r.scripter, []string{level.Key}).Err(); err != nil {
			return fmt.Errorf("reset level %s: %w", level.Name, scriptError(err))
		}
	}
	return nil
}

// Report implements [Limiter].
func (r *Redis) Report(ctx context.Context, scope Scope) (Report, error) {
	names := scope.keys()
	keys := []string{names.Ledger(), names.Outbox(), names.Entries(), names.Pause()}
	reply, err := run(ctx, r.scripter, lua.Report, keys, nil)
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %s: %w", scope.Channel, err)
	}
	report, err := decodeReport(reply)
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %s: %w: %w", scope.Channel, ErrUnavailable, err)
	}
	return report, nil
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

// Minutes implements [Limiter].
func (r *Redis) Minutes(ctx context.Context, scope Scope, back time.Duration) (time.Time, []MinuteCount, error) {
	return readMinutes(r.redisTime(), back, func(hour time.Time) (map[string]int64, error) {
		reply, err := run(ctx, r.scripter, lua.Series, []string{scope.keys().Minutes(hour)}, nil)
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", scope.Channel, err)
		}
		counts, err := fields(reply)
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", scope.Channel, err)
		}
		return counts, nil
	})
}

func (r *Redis) redisTime() time.Time {
	return r.opts.Now().Add(micros(r.ahead.Load()))
}

// run runs a script that answers an array.
func run(ctx context.Context, s redis.Scripter, script *redis.Script, keys []string, args []any) ([]any, error) {
	reply, err := script.Run(ctx, s, keys, args...).Slice()
	if err != nil {
		return nil, scriptError(lua.WrongType(ctx, s, keys, err))
	}
	return reply, nil
}

// scriptError says what an error of a script call means: an argument error of the script means that nothing
// was written, and every other error leaves that open.
func scriptError(err error) error {
	var answered redis.Error
	if errors.As(err, &answered) && strings.HasPrefix(answered.Error(), "ARG ") {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return unavailable(err)
}

// unavailable wraps an error of the transport, or of a server that cannot serve now. Where the call certainly
// was not carried out, it says so.
func unavailable(err error) error {
	if lua.NotSent(err) {
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, errNotSent, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
