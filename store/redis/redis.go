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

// Options configure a [Store]. The zero value is one sender with the defaults of [store.Options]:
//
//	s := redis.New(client, redis.Options{Options: store.Options{Owner: "relay-1"}})
type Options struct {
	store.Options
	// Now names the hour's series before Redis first answers with its time. It takes part in no decision.
	// Default time.Now.
	Now func() time.Time
	// ClockStepped is called when Redis's clock went back, with the channel that met it and by how much.
	// Default: not called.
	ClockStepped func(channel string, by time.Duration)
}

// Store is what all replicas share. The client must not retry by itself: a repeat of a call that was committed would
// count its refusals twice (redis.Options.MaxRetries = -1).
type Store struct {
	scripter redis.Scripter
	opts     Options
	calls    store.ClaimCalls
	ahead    atomic.Int64 // Redis's clock less ours, microseconds
}

var _ store.Store = (*Store)(nil)

// New makes a Store on a client.
func New(scripter redis.Scripter, opts Options) *Store {
	opts.Options = opts.WithDefaults()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.ClockStepped == nil {
		opts.ClockStepped = func(string, time.Duration) {}
	}
	return &Store{scripter: scripter, opts: opts}
}

// Durable is true: Redis outlives the process.
func (*Store) Durable() bool { return true }

// Ping tells whether the server that knows the replicas can be written to. On a Cluster, the shard of a channel
// may be away all the same.
func (r *Store) Ping(ctx context.Context) error {
	if _, err := r.Heartbeat(ctx, store.Heartbeat{TTL: time.Hour}); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func (r *Store) redisTime() time.Time {
	return r.opts.Now().Add(store.Microseconds(r.ahead.Load()))
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
