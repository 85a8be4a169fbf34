package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewMulti makes the engine for servers without scripting, on a client that must not retry by itself.
func NewMulti(client redis.UniversalClient, opts MultiOptions) *Multi {
	return newMulti(&redisCounters{client: client, Redis: NewRedis(client, RedisOptions{})}, opts)
}

// redisCounters are counters in Redis.
type redisCounters struct {
	*Redis // for the names of the hours
	client redis.UniversalClient
}

var _ counters = (*redisCounters)(nil)

func (c *redisCounters) now(ctx context.Context) (time.Time, error) {
	now, err := c.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time: %w", unavailable(err))
	}
	c.ahead.Store(now.UnixMicro() - c.opts.Now().UnixMicro())
	return now, nil
}

// ending is for how long a counter lives. The key of a second has its second in its name, and is kept a
// little longer, so that a late call does not make it anew.
func (c counter) ending() time.Duration {
	if c.level.Strategy.kind() == PerSecond {
		return 2 * c.Per
	}
	return c.Per
}

func claimKey(scope Scope, id string) string { return scope.keys().Seen() + ":" + id }

const (
	claimPending  = "pending"
	claimAdmitted = "admitted"
)

func (c *redisCounters) count(ctx context.Context, scope Scope, all []counted) ([]count, error) {
	type window struct {
		total *redis.IntCmd
		ttl   *redis.DurationCmd
	}
	claims, claimed := make([]*redis.StringCmd, len(all)), make([]*redis.BoolCmd, len(all))
	windows := make([][]window, len(all))
	pipe := c.client.TxPipeline()
	seq := pipe.HIncrBy(ctx, scope.keys().Entries(), "seq", int64(len(all)))
	for i, r := range all {
		claims[i] = pipe.Get(ctx, claimKey(scope, r.ID))
		claimed[i] = pipe.SetNX(ctx, claimKey(scope, r.ID), claimPending, pendingFor)
		for _, w := range r.windows {
			pipe.SetNX(ctx, w.key, 0, w.ending()) // so that a counter never lives without an end
			windows[i] = append(windows[i], window{pipe.IncrBy(ctx, w.key, r.units()), pipe.PTTL(ctx, w.key)})
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unavailable(err)
	}
	counts := make([]count, len(all))
	for i := range all {
		counts[i] = count{id: stateOfClaim(claims[i].Val()), number: seq.Val() - int64(len(all)) + int64(i) + 1}
		for _, w := range windows[i] {
			counts[i].totals = append(counts[i].totals, w.total.Val())
			counts[i].endings = append(counts[i].endings, w.ttl.Val())
		}
	}
	return counts, nil
}

func stateOfClaim(value string) idState {
	switch value {
	case claimPending:
		return idPending
	case claimAdmitted:
		return idAdmitted
	default:
		return idNew
	}
}

func (c *redisCounters) look(ctx context.Context, scope Scope, all []counted) ([]count, error) {
	claims, totals, ttls := make([]*redis.StringCmd, len(all)), make([][]*redis.StringCmd, len(all)), make([][]*redis.DurationCmd, len(all))
	pipe := c.client.TxPipeline()
	for i, r := range all {
		claims[i] = pipe.Get(ctx, claimKey(scope, r.ID))
		for _, w := range r.windows {
			totals[i] = append(totals[i], pipe.Get(ctx, w.key))
			ttls[i] = append(ttls[i], pipe.PTTL(ctx, w.key))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unavailable(err)
	}
	counts := make([]count, len(all))
	for i := range all {
		counts[i].id = stateOfClaim(claims[i].Val())
		for w := range all[i].windows {
			used, err := totals[i][w].Int64()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, fmt.Errorf("%w: counter %s: %w", ErrUnavailable, all[i].windows[w].key, err)
			}
			counts[i].totals = append(counts[i].totals, used+all[i].units())
			counts[i].endings = append(counts[i].endings, max(0, ttls[i][w].Val()))
		}
	}
	return counts, nil
}

func (c *redisCounters) conclude(ctx context.Context, scope Scope, all []concluded, dedupe time.Duration) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	names := scope.keys()
	series := names.Series(now)
	pipe := c.client.TxPipeline()
	for _, r := range all {
		for w, undo := range r.undo {
			if undo {
				pipe.DecrBy(ctx, r.windows[w].key, r.units())
			}
		}
		pipe.HIncrBy(ctx, names.Ledger(), "received", 1)
		switch r.outcome {
		case Admitted:
			pipe.Set(ctx, claimKey(scope, r.ID), claimAdmitted, dedupe)
			pipe.HIncrBy(ctx, names.Ledger(), "admitted", 1)
			if entry := r.entry(); entry != nil {
				pipe.HSet(ctx, names.Entries(), r.number, fmt.Sprintf("%d %s", now.UnixMicro(), entry))
				pipe.ZAdd(ctx, names.Outbox(), redis.Z{Score: float64(r.number), Member: r.number})
			}
			if r.Handling != nil && r.Handling.Digest {
				pipe.ZAdd(ctx, names.Told(), redis.Z{Score: float64(now.UnixMicro()), Member: r.Category})
				pipe.ZRemRangeByRank(ctx, names.Told(), 0, -maxCategories-1)
				pipe.PExpire(ctx, names.Told(), 2*seriesFor)
			}
		case Duplicate:
			pipe.HIncrBy(ctx, names.Ledger(), "duplicate", 1)
		default:
			pipe.Del(ctx, claimKey(scope, r.ID))
			pipe.HIncrBy(ctx, names.Ledger(), "dropped", 1)
			c.keepDrop(ctx, pipe, scope, r, now)
		}
		if r.outcome != Duplicate {
			name := map[bool]string{true: "admitted", false: "dropped"}[r.outcome == Admitted]
			pipe.HIncrBy(ctx, series, r.Category+":"+name, 1)
			pipe.HIncrBy(ctx, names.Minutes(now), minuteField(now, name, r.Category), 1)
			pipe.HSetNX(ctx, series, r.Category+":"+map[string]string{"admitted": "dropped", "dropped": "admitted"}[name], 0)
		}
	}
	pipe.PExpire(ctx, series, seriesFor)
	pipe.PExpire(ctx, names.Minutes(now), seriesFor)
	if _, err := pipe.Exec(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

// Ping asks without a script.
func (c *redisCounters) Ping(ctx context.Context) error {
	if err := c.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping: %w", unavailable(err))
	}
	return nil
}

// Mute counts without a script.
func (c *redisCounters) Mute(ctx context.Context, scope Scope, n int64) error {
	pipe := c.client.TxPipeline()
	pipe.HIncrBy(ctx, scope.keys().Ledger(), "received", n)
	pipe.HIncrBy(ctx, scope.keys().Ledger(), "muted", n)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("count what is muted in channel %s: %w", scope.Channel, unavailable(err))
	}
	return nil
}

// Reset empties levels without a script.
func (c *redisCounters) Reset(ctx context.Context, levels ...Level) error {
	for _, level := range levels {
		if err := c.client.Del(ctx, level.Key).Err(); err != nil {
			return fmt.Errorf("reset level %s: %w", level.Name, unavailable(err))
		}
	}
	return nil
}

// Report reads without a script. Its terms are read in one step, as those of [Redis] are.
func (c *redisCounters) Report(ctx context.Context, scope Scope) (Report, error) {
	names := scope.keys()
	pipe := c.client.TxPipeline()
	ledger, pending := pipe.HGetAll(ctx, names.Ledger()), pipe.ZCard(ctx, names.Outbox())
	clock, pause := pipe.Time(ctx), pipe.HGetAll(ctx, names.Pause())
	head := pipe.ZRange(ctx, names.Outbox(), 0, 0)
	if _, err := pipe.Exec(ctx); err != nil {
		return Report{}, fmt.Errorf("report of channel %s: %w", scope.Channel, unavailable(err))
	}
	report := Report{Ledger: ledgerOf(parsed(ledger.Val()), pending.Val())}
	if until := micros(parsed(pause.Val())["until"] - clock.Val().UnixMicro()); until > 0 {
		report.PausedFor, report.PauseReason = until, pause.Val()["reason"]
	} else if until := micros(parsed(pause.Val())["settling"] - clock.Val().UnixMicro()); until > 0 {
		report.PausedFor, report.PauseReason = until, Settling
	}
	if numbers := head.Val(); len(numbers) > 0 {
		entry, err := c.client.HGet(ctx, names.Entries(), numbers[0]).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return Report{}, fmt.Errorf("report of channel %s: %w", scope.Channel, unavailable(err))
		}
		var at int64
		if _, err := fmt.Sscan(entry, &at); err == nil {
			report.Oldest = max(0, micros(clock.Val().UnixMicro()-at))
		}
	}
	return report, nil
}

// Minutes reads without a script.
func (c *redisCounters) Minutes(ctx context.Context, scope Scope, back time.Duration) (time.Time, []MinuteCount, error) {
	now, err := c.now(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	return readMinutes(now, back, func(hour time.Time) (map[string]int64, error) {
		fields, err := c.client.HGetAll(ctx, scope.keys().Minutes(hour)).Result()
		if err != nil {
			return nil, fmt.Errorf("minutes of channel %s: %w", scope.Channel, unavailable(err))
		}
		return parsed(fields), nil
	})
}

// Categories reads without a script.
func (c *redisCounters) Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error) {
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for i := range seriesHours {
		hour, err := c.client.HGetAll(ctx, scope.keys().Series(now.Add(-time.Duration(i)*time.Hour))).Result()
		if err != nil {
			return nil, fmt.Errorf("categories of channel %s: %w", scope.Channel, unavailable(err))
		}
		for field, n := range parsed(hour) {
			sums[field] += n
		}
	}
	return categoriesOf(sums), nil
}
