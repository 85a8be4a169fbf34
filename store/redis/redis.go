// Package redis is the store on Redis, which any number of processes share.
//
// Each method of [Store] runs one script of package lua, in the file with the script's name. A script decides and writes
// in one atomic step, and returns integers and strings: plan.go writes the arguments of the scripts that decide, and
// reply.go reads their replies.
//
// A call that fails returns [ratelimit.ErrUnavailable], and [store.ErrNotSent] besides if it certainly had no effect. A
// request that a script rejects returns [ratelimit.ErrRequest].
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
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Options configure a [Store]. The zero value is one sender with the defaults of [store.Options]:
//
//	s := redis.New(client, redis.Options{Options: store.Options{Owner: "relay-1"}})
type Options struct {
	store.Options
	// Now names the series of the current hour until Redis first returns its time. No decision depends on it. Default
	// time.Now.
	Now func() time.Time
	// ClockStepped is called when Redis's clock went back, with the name of the channel that was affected, and by how
	// much. Default: not called.
	ClockStepped func(channel string, by time.Duration)
}

// Store is the store on Redis. It is safe for concurrent use.
type Store struct {
	scripter *indexScripter
	opts     Options
	calls    store.ClaimCalls
	turn     groupTurn
	ahead    atomic.Int64 // Redis's clock minus this process's, microseconds
}

var _ store.Store = (*Store)(nil)

// New returns a store on a client. The client must not retry by itself (MaxRetries of its options = -1): if a call was
// committed and its reply lost, a retry counts its refusals twice.
func New(scripter redis.Scripter, opts Options) *Store {
	opts.Options = opts.WithDefaults()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.ClockStepped == nil {
		opts.ClockStepped = func(string, time.Duration) {}
	}
	return &Store{scripter: newIndexScripter(scripter), opts: opts}
}

// Durable returns true: Redis outlives this process.
func (*Store) Durable() bool { return true }

// Ping returns an error unless the server that stores the heartbeats can be written to. In a Redis Cluster, the shard of a
// channel may be unavailable all the same.
func (r *Store) Ping(ctx context.Context) error {
	if _, err := r.Heartbeat(ctx, store.Heartbeat{TTL: time.Hour}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// redisTime returns the time of Redis's clock, as of its last reply.
func (r *Store) redisTime() time.Time {
	return r.opts.Now().Add(store.Microseconds(r.ahead.Load()))
}

// run runs a script that returns an array.
func (r *Store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := script.Run(ctx, r.scripter, keys, args...).Slice()
	if err != nil {
		return nil, scriptError(lua.WrongType(ctx, r.scripter, keys, err))
	}
	return reply, nil
}

// runFenced runs a script that returns 1 (done), 0 (there was nothing to do) or -1 (another sender has the lease). The
// first argument of its errors is what it does, for example "retry".
func (r *Store) runFenced(
	ctx context.Context, verb string, script *redis.Script, channel store.Channel, keys []string, args ...any,
) error {
	code, err := script.Run(ctx, r.scripter, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	if code < 0 {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, store.ErrLeaseLost)
	}
	return nil
}

// scriptError classifies an error of a script call. After an argument error of the script, nothing was written; after any
// other error, that is unknown.
func scriptError(err error) error {
	var replied redis.Error
	if errors.As(err, &replied) && strings.HasPrefix(replied.Error(), "ARG ") {
		return fmt.Errorf("%w: %w", ratelimit.ErrRequest, err)
	}
	if lua.NotSent(err) {
		return fmt.Errorf("%w: %w: %w", ratelimit.ErrUnavailable, store.ErrNotSent, err)
	}
	return fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, err)
}
