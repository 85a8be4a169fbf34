package redis

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// Due implements [store.Queue].
func (r *Store) Due(ctx context.Context, among []store.Channel, all bool) ([]store.Work, error) {
	indexes := []string{lua.DueIndex}
	if r.scripter.perGroup.Load() {
		indexes = r.turn.next(among, all)
	}
	var found []store.TimedWork
	var works []store.Work
	var failed error
	answered := false
	for skip := 0; len(indexes) > 0 && failed == nil; skip += store.MaxDue {
		var full []string // indexes with more work
		for i, reply := range r.readDue(ctx, indexes, skip) {
			page, err := decodeDue(reply)
			if err == nil {
				answered = true
			} else {
				failed = fmt.Errorf("read what is due: %w", scriptError(lua.WrongType(ctx, r.scripter, indexes[i:i+1], err)))
			}
			if len(page) == store.MaxDue {
				full = append(full, indexes[i])
			}
			found = append(found, page...)
		}
		works = store.WorkOf(found, among)
		if len(works) == store.MaxDue {
			break
		}
		indexes = full // what comes first there is of channels that the caller does not know
	}
	if failed != nil && answered {
		failed = fmt.Errorf("%w: %w", store.ErrPartial, failed)
	}
	return works, failed
}

// readDue runs lua/due.lua on each index.
func (r *Store) readDue(ctx context.Context, indexes []string, skip int) []*redis.Cmd {
	calls := make([]lua.Call, len(indexes))
	for i, index := range indexes {
		calls[i] = lua.Call{Keys: []string{index}, Args: []any{skip, store.MaxDue}}
	}
	return lua.RunAll(ctx, r.scripter.Scripter, lua.Due, calls)
}

// decodeDue reads the reply of lua/due.lua: [work, time, ...].
func decodeDue(reply *redis.Cmd) ([]store.TimedWork, error) {
	texts, err := reply.StringSlice()
	if err != nil {
		return nil, err
	}
	works := make([]store.TimedWork, 0, len(texts)/2)
	for i := 0; i+1 < len(texts); i += 2 {
		at, err := strconv.ParseInt(texts[i+1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("work %q is due at %q: %w", texts[i], texts[i+1], err)
		}
		kind, group, name := lua.ParseWork(texts[i])
		channel := store.Channel{Group: group, Name: name}
		works = append(works, store.TimedWork{Work: store.Work{Kind: store.WorkKind(kind), Channel: channel}, At: at})
	}
	return works, nil
}

// maxGroups is how many limit groups one call of [Store.Due] asks on a Cluster. A caller that asks twice a second so
// makes at most 1,000 calls a second there.
const maxGroups = 500

// groupTurn takes turns at asking limit groups. The zero value is ready to use, and safe for concurrent use.
type groupTurn struct {
	mu       sync.Mutex
	position int // in the channels
}

// next returns the due indexes of the groups whose turn it is, or of all.
func (t *groupTurn) next(among []store.Channel, all bool) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var indexes []string
	asked := map[string]bool{}
	for range among {
		if len(indexes) == maxGroups && !all {
			break
		}
		t.position %= len(among)
		group := among[t.position].LimitGroup()
		if !asked[group] {
			asked[group] = true
			indexes = append(indexes, among[t.position].Keys().Due())
		}
		t.position++
	}
	return indexes
}
