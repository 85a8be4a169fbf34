package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// MergeCounts implements [store.Replication].
func (r *Store) MergeCounts(ctx context.Context, channel store.Channel, id store.MergeID, counts store.LocalCounts) error {
	k := channel.Keys()
	hour := r.redisTime()
	keys := []string{k.Ledger(), k.Series(hour), k.MergeSequences(), k.Drops(), k.Digest(), k.Minutes(hour), lua.DueIndex}
	if counts.LearnCategories {
		keys = append(keys, k.Known())
	}
	encoded, err := json.Marshal(countsJSONOf(counts))
	if err != nil {
		return fmt.Errorf("merge counts into channel %s: %w: %w", channel.Name, ratelimit.ErrRequest, err)
	}
	if err := lua.MergeCounts.Run(ctx, r.scripter, keys, id.Replica, id.Sequence, encoded).Err(); err != nil {
		return fmt.Errorf("merge counts into channel %s: %w", channel.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}

// countsJSON is the counts as lua/merge_counts.lua reads them.
type countsJSON struct {
	Totals       map[string]int64 `json:"totals,omitempty"`
	Categories   map[string]int64 `json:"categories,omitempty"`
	DigestCounts map[string]int64 `json:"noted,omitempty"`
	Drops        [][]string       `json:"drops,omitempty"` // event, category, level, used, limit, retry in microseconds
	KeepDrops    int64            `json:"keep"`
}

func countsJSONOf(counts store.LocalCounts) countsJSON {
	drops := make([][]string, len(counts.Drops))
	for i, drop := range counts.Drops {
		drops[i] = []string{
			string(drop.Payload),
			drop.Category,
			drop.Level,
			strconv.FormatInt(drop.Used, 10),
			strconv.FormatInt(drop.Limit, 10),
			strconv.FormatInt(drop.RetryAfter.Microseconds(), 10),
		}
	}
	return countsJSON{
		Totals:       counts.Totals,
		Categories:   counts.Categories,
		DigestCounts: counts.DigestCounts,
		Drops:        drops,
		KeepDrops:    max(1, counts.KeepDrops),
	}
}
