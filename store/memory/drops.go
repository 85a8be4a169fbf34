package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/store"
)

// Drop is one record of what was dropped; see lua/admit.lua.
type Drop struct {
	ID     int64 // rising
	At     time.Time
	Fields map[string]string
}

// Drops are the newest records of what was dropped, oldest first.
type Drops struct {
	next  int64
	bytes int
	All   []Drop
}

func (d Drop) bytes() int { return len(d.Fields["event"]) + RecordBytes }

// Add keeps a record, and at most so many, of so many bytes.
func (d *Drops) Add(at time.Time, keep int64, fields map[string]string) {
	d.next++
	drop := Drop{ID: d.next, At: at, Fields: fields}
	d.All = append(d.All, drop)
	d.bytes += drop.bytes()
	over := 0
	for ; len(d.All)-over > int(keep) || d.bytes > MaxDropBytes; over++ {
		d.bytes -= d.All[over].bytes()
	}
	d.All = slices.Delete(d.All, 0, over)
}

// drop records a drop, and notes it for the digest.
func (t *telling) drop(r *store.Request, v verdict) {
	names := t.scope.Keys()
	level, used, limit, retry := v.outcome.String(), int64(-1), int64(-1), int64(0)
	for i := range r.Levels {
		if v.outcome == store.Dropped && v.refused&(1<<i) != 0 {
			level, limit, retry = r.Levels[i].Name, r.Levels[i].Windows[v.window].Limit, v.retryAt-t.now
			used = t.Used(t.routeOfLevel(r.Levels[i].Key))[v.window]
			break
		}
	}
	if t.h.KeepDrops > 0 {
		Value[Drops](t.tx, names.Drops()).Add(t.tx.Time, t.h.KeepDrops, map[string]string{
			"event": string(r.Payload()), "category": r.Category, "level": level, "used": strconv.FormatInt(used, 10),
			"limit": strconv.FormatInt(limit, 10), "retry_us": strconv.FormatInt(retry, 10),
		})
	}
	if t.h.Digest && v.outcome != store.Suppressed {
		noted := map[string]int64{}
		r.AddDigestCounts(noted, 1)
		Value[Digest](t.tx, names.Digest()).Note(t.now, noted)
	}
}

// routeOfLevel is the place of a level in the plan, from 0.
func (b *batch) routeOfLevel(key string) int {
	for i := range b.Levels {
		if b.Levels[i].Key == key {
			return i
		}
	}
	return 0
}

// Drops implements [Limiter].
func (m *Store) Drops(_ context.Context, scope store.Channel, before string, most int) ([]store.Drop, error) {
	var page []store.Drop
	m.data.Do(func(tx *Tx) {
		all := LookOrNew[Drops](tx, scope.Keys().Drops()).All
		_, rising, _ := strings.Cut(before, "-")
		oldest, err := strconv.ParseInt(rising, 10, 64)
		for i := len(all) - 1; i >= 0 && len(page) < most; i-- {
			if before != "" && (err != nil || all[i].ID >= oldest) {
				continue
			}
			drop := store.ParseDrop(all[i].Fields)
			drop.ID, drop.At = fmt.Sprintf("%d-%d", all[i].At.UnixMilli(), all[i].ID), all[i].At
			page = append(page, drop)
		}
	})
	return page, nil
}

// keepDrops takes what a fold tells the record.
func keepDrops(tx *Tx, scope store.Channel, d store.LocalCounts, at time.Time) {
	for _, drop := range d.Drops {
		Value[Drops](tx, scope.Keys().Drops()).Add(at, max(1, d.KeepDrops), map[string]string{
			"event": string(drop.Payload), "category": drop.Category, "level": drop.Level, "used": strconv.FormatInt(drop.Used, 10),
			"limit": strconv.FormatInt(drop.Limit, 10), "retry_us": strconv.FormatInt(drop.RetryAfter.Microseconds(), 10),
		})
	}
	if len(d.DigestCounts) > 0 {
		Value[Digest](tx, scope.Keys().Digest()).Note(tx.Now, d.DigestCounts)
	}
}
