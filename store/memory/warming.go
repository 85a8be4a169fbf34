package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Warming implements [store.Counts]. It is the twin of lua/warming.lua.
func (s *Store) Warming(_ context.Context, channel store.Channel, specs []ratelimit.LevelSpec) ([]time.Duration, error) {
	warming := make([]time.Duration, len(specs))
	s.do(channel, func(tx channelTx) {
		known := kept[longestWindows](tx.Tx, tx.keys.Windows())
		for i, spec := range specs {
			warming[i] = known.update(tx.now, spec.Name, ratelimit.Longest(spec.Windows).Microseconds())
		}
	})
	return warming, nil
}

// longestWindows are the longest windows of a channel's levels, by the names of the levels.
type longestWindows struct{ byLevel map[string]longestWindow }

type longestWindow struct {
	per   int64 // microseconds
	since int64 // when it was lengthened; 0 = it counts in full
}

// update notes the longest window of a level, and returns for how long it still counts too little.
func (w *longestWindows) update(now int64, level string, per int64) time.Duration {
	if w.byLevel == nil {
		w.byLevel = map[string]longestWindow{}
	}
	longest := longestWindow{per: per}
	if before, ok := w.byLevel[level]; ok {
		longest.since = before.since
		if per > before.per {
			longest.since = now
		}
	}
	if longest.since+per <= now {
		longest.since = 0
	}
	w.byLevel[level] = longest
	if longest.since == 0 {
		return 0
	}
	return store.Microseconds(longest.since + per - now)
}
