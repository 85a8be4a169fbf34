package ratelimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"slackrelay/lua/memstore"
)

// drop records a drop, and notes it for the digest.
func (t *telling) drop(r *Request, v verdict) {
	names := t.scope.keys()
	level, used, limit, retry := v.outcome.String(), int64(-1), int64(-1), int64(0)
	for i := range r.Levels {
		if v.outcome == Dropped && v.refused&(1<<i) != 0 {
			level, limit, retry = r.Levels[i].Name, r.Levels[i].Windows[v.window].Limit, v.retryAt-t.now
			used = t.used(t.routeOfLevel(r.Levels[i].Key))[v.window]
			break
		}
	}
	if t.h.Drops > 0 {
		memstore.Value[memstore.Drops](t.tx, names.Drops()).Add(t.tx.Time, t.h.Drops, map[string]string{
			"event": string(r.payload()), "category": r.Category, "level": level, "used": strconv.FormatInt(used, 10),
			"limit": strconv.FormatInt(limit, 10), "retry_us": strconv.FormatInt(retry, 10),
		})
	}
	if t.h.Digest && v.outcome != Suppressed {
		noted := map[string]int64{}
		r.noteOf(noted, 1)
		memstore.Value[memstore.Digest](t.tx, names.Digest()).Note(t.now, noted)
	}
}

// routeOfLevel is the place of a level in the plan, from 0.
func (b *batch) routeOfLevel(key string) int {
	for i := range b.levels {
		if b.levels[i].Key == key {
			return i
		}
	}
	return 0
}

// Drops implements [Limiter].
func (m *Memory) Drops(_ context.Context, scope Scope, before string, most int) ([]Drop, error) {
	var page []Drop
	m.store.Do(func(tx *memstore.Tx) {
		all := memstore.LookOrNew[memstore.Drops](tx, scope.keys().Drops()).All
		_, rising, _ := strings.Cut(before, "-")
		oldest, err := strconv.ParseInt(rising, 10, 64)
		for i := len(all) - 1; i >= 0 && len(page) < most; i-- {
			if before != "" && (err != nil || all[i].ID >= oldest) {
				continue
			}
			drop := dropOf(all[i].Fields)
			drop.ID, drop.At = fmt.Sprintf("%d-%d", all[i].At.UnixMilli(), all[i].ID), all[i].At
			page = append(page, drop)
		}
	})
	return page, nil
}

// keepDrops takes what a fold tells the record.
func keepDrops(tx *memstore.Tx, scope Scope, d drops, at time.Time) {
	for _, drop := range d.kept {
		memstore.Value[memstore.Drops](tx, scope.keys().Drops()).Add(at, max(1, d.keep), map[string]string{
			"event": string(drop.Payload), "category": drop.Category, "level": drop.Level, "used": strconv.FormatInt(drop.Used, 10),
			"limit": strconv.FormatInt(drop.Limit, 10), "retry_us": strconv.FormatInt(drop.Retry.Microseconds(), 10),
		})
	}
	if len(d.noted) > 0 {
		memstore.Value[memstore.Digest](tx, scope.keys().Digest()).Note(tx.Now, d.noted)
	}
}
