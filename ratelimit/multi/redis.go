package multi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/ratelimit"
)

// New makes a limiter that any number of processes share, on a client that must not retry by itself (MaxRetries -1).
func New(client redis.UniversalClient, opts Options) *Limiter {
	return &Limiter{counters: &server{client}, opts: opts.withDefaults()}
}

// server are counters in Redis.
type server struct{ client redis.UniversalClient }

var _ counters = (*server)(nil)

// The values of an id's key.
const (
	claimPending  = "pending"
	claimAdmitted = "admitted"
)

func (s *server) now(ctx context.Context) (time.Time, error) {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time: %w: %w", ratelimit.ErrUnavailable, err)
	}
	return now, nil
}

// replies are the commands of one call in a pipeline; they have their values once it has run.
type replies struct {
	claim *redis.StringCmd
	used  []func() (int64, error)
	ends  []*redis.DurationCmd
}

func (s *server) add(ctx context.Context, calls []call) ([]reading, error) {
	all := make([]replies, len(calls))
	pipe := s.client.TxPipeline()
	for i, c := range calls {
		all[i].claim = pipe.Get(ctx, c.claim)
		pipe.SetNX(ctx, c.claim, claimPending, pendingFor)
		for _, w := range c.windows {
			pipe.SetNX(ctx, w.key, 0, w.lives) // so that a counter never lives without an end
			all[i].used = append(all[i].used, pipe.IncrBy(ctx, w.key, c.units).Result)
			all[i].ends = append(all[i].ends, pipe.PTTL(ctx, w.key))
		}
	}
	if err := run(ctx, pipe); err != nil {
		return nil, err
	}
	return readingsOf(calls, all)
}

func (s *server) read(ctx context.Context, calls []call) ([]reading, error) {
	all := make([]replies, len(calls))
	pipe := s.client.TxPipeline()
	for i, c := range calls {
		all[i].claim = pipe.Get(ctx, c.claim)
		for _, w := range c.windows {
			all[i].used = append(all[i].used, pipe.Get(ctx, w.key).Int64)
			all[i].ends = append(all[i].ends, pipe.PTTL(ctx, w.key))
		}
	}
	if err := run(ctx, pipe); err != nil {
		return nil, err
	}
	readings, err := readingsOf(calls, all)
	for i := range readings {
		for w := range readings[i].windows {
			readings[i].windows[w].used += calls[i].units
		}
	}
	return readings, err
}

// readingsOf decodes replies. A counter that does not exist is 0.
func readingsOf(calls []call, all []replies) ([]reading, error) {
	readings := make([]reading, len(all))
	for i, r := range all {
		readings[i].id = stateOf(r.claim.Val())
		for w := range r.used {
			used, err := r.used[w]()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, fmt.Errorf("%w: counter %s: %w", ratelimit.ErrUnavailable, calls[i].windows[w].key, err)
			}
			readings[i].windows = append(readings[i].windows, total{used, max(0, r.ends[w].Val())})
		}
	}
	return readings, nil
}

func stateOf(claim string) idState {
	switch claim {
	case claimPending:
		return idPending
	case claimAdmitted:
		return idAdmitted
	default:
		return idNew
	}
}

// conclude takes units back from a counter, which it first makes with these units where it has ended meanwhile: it
// would otherwise be left below zero, without an end.
func (s *server) conclude(ctx context.Context, c conclusion, dedupe time.Duration) error {
	pipe := s.client.TxPipeline()
	for key, undo := range c.undo {
		pipe.SetNX(ctx, key, undo.units, undo.lives)
		pipe.DecrBy(ctx, key, undo.units)
	}
	for _, claim := range c.released {
		pipe.Del(ctx, claim)
	}
	for _, claim := range c.admitted {
		pipe.Set(ctx, claim, claimAdmitted, dedupe)
	}
	return run(ctx, pipe)
}

// run executes a pipeline. A key that does not exist is no error; of all others, the first is returned, also where
// a missing key came before it.
func run(ctx context.Context, pipe redis.Pipeliner) error {
	commands, err := pipe.Exec(ctx)
	for _, command := range commands {
		if failed := command.Err(); failed != nil && !errors.Is(failed, redis.Nil) {
			return fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, failed)
		}
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, err)
	}
	return nil
}
