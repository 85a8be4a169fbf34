package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
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
type Limiter struct {
	scripter redis.Scripter
	opts     RedisOptions
	ahead    atomic.Int64 // Redis's clock less ours, microseconds
}

// NewRedis makes a Redis engine.
func NewLimiter(scripter redis.Scripter, opts RedisOptions) *Limiter {
	if opts.Dedupe == 0 {
		opts.Dedupe = store.DefaultDedupe
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Stepped == nil {
		opts.Stepped = func(string, time.Duration) {}
	}
	return &Limiter{scripter: scripter, opts: opts}
}

// Durable is true: Redis outlives the process.
func (*Limiter) Durable() bool { return true }

// Ping tells whether the server that knows the replicas can be written to. On a Cluster, the shard of a channel
// may be away all the same.
func (r *Limiter) Ping(ctx context.Context) error {
	if _, err := r.Heartbeat(ctx, store.Heartbeat{Keep: time.Hour}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func (r *Limiter) redisTime() time.Time {
	return r.opts.Now().Add(store.Micros(r.ahead.Load()))
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
		return fmt.Errorf("%w: %w", store.ErrRequest, err)
	}
	return unavailable(err)
}

// unavailable wraps an error of the transport, or of a server that cannot serve now. Where the call certainly
// was not carried out, it says so.
func unavailable(err error) error {
	if lua.NotSent(err) {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrNotSent, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
