package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// maxMultiDrop is how long an event may be to be kept with the record of its drop: without a script, only their number is
// bounded.
const maxMultiDrop = 4 << 10

// keepDrop records a drop, and notes it for the digest.
func (*redisCounters) keepDrop(ctx context.Context, pipe redis.Pipeliner, scope Scope, r concluded, now time.Time) {
	h, names := r.Handling, scope.keys()
	if h == nil {
		return
	}
	if h.Drops > 0 {
		d := r.decision.drop(r.Request)
		event := r.payload()
		if len(event) > maxMultiDrop {
			event = nil
		}
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: names.Drops(), MaxLen: h.Drops, Values: []any{
			"event", event, "category", d.Category, "level", d.Level, "used", d.Used, "limit", d.Limit, "retry_us", d.Retry.Microseconds(),
		}})
	}
	if h.Digest {
		noted := map[string]int64{}
		r.noteOf(noted, 1)
		for field, n := range noted {
			pipe.HIncrBy(ctx, names.Digest(), field, n)
		}
		pipe.HIncrBy(ctx, names.Digest(), "noted", 1)
		pipe.HSetNX(ctx, names.Digest(), "since", now.UnixMicro())
		pipe.HSet(ctx, names.Digest(), "last", now.UnixMicro())
	}
}

// Drops reads without a script.
func (c *redisCounters) Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error) {
	newest := "+"
	if before != "" {
		newest = "(" + before
	}
	messages, err := c.client.XRevRangeN(ctx, scope.keys().Drops(), newest, "-", int64(most)).Result()
	if err != nil {
		return nil, fmt.Errorf("drops of channel %s: %w", scope.Channel, unavailable(err))
	}
	drops := make([]Drop, len(messages))
	for i, message := range messages {
		fields := map[string]string{}
		for name, value := range message.Values {
			fields[name] = fmt.Sprint(value)
		}
		drops[i] = dropOf(fields)
		drops[i].ID, drops[i].At = message.ID, lua.TimeOf(message.ID)
	}
	return drops, nil
}

// keepConcluded records a drop, and notes it for the digest.
func keepConcluded(tx *memstore.Tx, scope Scope, r concluded) {
	h := r.Handling
	if h == nil {
		return
	}
	kept := drops{keep: h.Drops, noted: map[string]int64{}}
	if h.Drops > 0 {
		d := r.decision.drop(r.Request)
		if d.Payload = r.payload(); len(d.Payload) > maxMultiDrop {
			d.Payload = nil
		}
		kept.kept = append(kept.kept, d)
	}
	if h.Digest {
		r.noteOf(kept.noted, 1)
	}
	keepDrops(tx, scope, kept, tx.Time)
}
