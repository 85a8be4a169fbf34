package memory

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Statuses implements [store.Counts]. It is the twin of lua/report.lua with a level.
func (s *Store) Statuses(_ context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error) {
	all := make([]store.ChannelStatus, len(queries))
	for i := range queries {
		s.do(queries[i].Channel, func(tx channelTx) { all[i] = s.status(tx, &queries[i]) })
	}
	return all, nil
}

func (s *Store) status(tx channelTx, q *store.StatusQuery) store.ChannelStatus {
	requests := []store.Request{{Request: ratelimit.Request{Levels: []ratelimit.Level{q.Level}}}}
	decision := s.newBatch(tx, store.ModePeek, requests).run(requests).Decisions[0]
	known := kept[longestWindows](tx.Tx, tx.keys.Windows())
	return store.ChannelStatus{
		Report:  tx.report(),
		Usage:   decision.Usage(),
		Warming: known.update(tx.now, q.Level.Name, q.Longest.Microseconds()),
		Active:  len(tx.look(tx.keys.Minutes(tx.time)))+len(tx.look(tx.keys.Minutes(tx.time.Add(-time.Hour)))) > 0,
	}
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
