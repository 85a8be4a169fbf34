package outbox

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// noted are the ids of what was put in.
type noted struct{ at map[string]int64 }

// Put implements [Outbox].
func (m *Memory) Put(_ context.Context, channel Channel, id, kind string, payload []byte) error {
	m.store.Do(func(tx *memstore.Tx) {
		known, forget := memstore.Value[noted](tx, channel.keys().Noted()), tx.Now-putFor.Microseconds()
		maps.DeleteFunc(known.at, func(_ string, at int64) bool { return at <= forget })
		if _, ok := known.at[id]; ok {
			return
		}
		if known.at == nil {
			known.at = map[string]int64{}
		}
		known.at[id] = tx.Now
		memstore.Value[memstore.Outbox](tx, channel.keys().Outbox()).Put(tx.Now, tx.Now, kind, payload)
	})
	return nil
}

// Record implements [Outbox].
func (m *Memory) Record(_ context.Context, channel Channel, number int64) (*Record, error) {
	var found *Record
	m.store.Do(func(tx *memstore.Tx) {
		if record := memstore.Look[memstore.Posted](tx, channel.keys().Posted()).Record(number); record != nil {
			kept := *record
			kept.Events = slices.Clone(record.Events)
			found = &kept
		}
	})
	return found, nil
}

// Delayed implements [Outbox].
func (m *Memory) Delayed(_ context.Context, channel Channel) ([]Waiting, error) {
	var all []Waiting
	m.store.Do(func(tx *memstore.Tx) {
		seen, bytes := map[string]bool{}, 0
		for _, entry := range memstore.LookOrNew[memstore.Outbox](tx, channel.keys().Outbox()).Delayed {
			if !seen[entry.Category] && len(all) < MaxDelayed && bytes < maxDelayedBytes {
				seen[entry.Category], bytes = true, bytes+len(entry.Payload)
				all = append(all, Waiting{Number: entry.Number, Payload: entry.Payload})
			}
		}
	})
	return all, nil
}

// DeadLetters implements [Outbox].
func (m *Memory) DeadLetters(_ context.Context, channel Channel, before string, most int) ([]DeadLetter, error) {
	var page []DeadLetter
	m.store.Do(func(tx *memstore.Tx) {
		letters := memstore.LookOrNew[memstore.DeadLetters](tx, channel.keys().Dead()).All
		for i := len(letters) - 1; i >= 0 && len(page) < most; i-- {
			if before == "" || place(letters[i].ID) < place(before) {
				page = append(page, letters[i])
			}
		}
	})
	return page, nil
}

// place is the rising part of the id of a dead letter, 0 where it is none.
func place(id string) int64 {
	_, rising, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(rising, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// DeleteDead implements [Outbox].
func (m *Memory) DeleteDead(_ context.Context, channel Channel, ids ...string) (int, error) {
	n := 0
	m.store.Do(func(tx *memstore.Tx) {
		dead := memstore.LookOrNew[memstore.DeadLetters](tx, channel.keys().Dead())
		before := len(dead.All)
		dead.All = slices.DeleteFunc(dead.All, func(l DeadLetter) bool { return slices.Contains(ids, l.ID) })
		n = before - len(dead.All)
	})
	return n, nil
}

// credential is when a credential may be used again, and why not before.
type credential struct {
	until  int64
	reason string
}

// Take implements [Budget].
func (m *Memory) Take(_ context.Context, workspace, method string, perMinute int64) (wait time.Duration, reason string, err error) {
	m.store.Do(func(tx *memstore.Tx) {
		k := lua.WorkspaceOf(workspace)
		if c := memstore.Look[credential](tx, k.Pause()); c != nil && c.until > tx.Now {
			wait, reason = micros(c.until-tx.Now), c.reason
			return
		}
		perMinute = max(1, perMinute/m.opts.paceFactor())
		bucket, each := memstore.Value[pacing](tx, k.Budget(method)), (60_000_000+perMinute-1)/perMinute
		emptyAt := max(tx.Now, bucket.emptyAt)
		if allowedAt := emptyAt - (max(1, perMinute/2)-1)*each; allowedAt > tx.Now {
			wait = micros(allowedAt - tx.Now)
			return
		}
		bucket.emptyAt = emptyAt + each
	})
	return m.store.Wall(wait), reason, nil
}

// Pause implements [Budget].
func (m *Memory) Pause(_ context.Context, workspace, reason string, wait time.Duration) error {
	m.store.Do(func(tx *memstore.Tx) {
		c := memstore.Value[credential](tx, lua.WorkspaceOf(workspace).Pause())
		c.until, c.reason = tx.Now+wait.Microseconds(), reason
	})
	return nil
}

// Paused implements [Budget].
func (m *Memory) Paused(_ context.Context, workspace string) (wait time.Duration, reason string, err error) {
	m.store.Do(func(tx *memstore.Tx) {
		if c := memstore.Look[credential](tx, lua.WorkspaceOf(workspace).Pause()); c != nil && c.until > tx.Now {
			wait, reason = micros(c.until-tx.Now), c.reason
		}
	})
	return m.store.Wall(wait), reason, nil
}
