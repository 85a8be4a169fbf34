package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"slackrelay/lua"
	"slackrelay/store"
)

// fold implements [engine].
func (r *Store) MergeCounts(ctx context.Context, scope store.Channel, f store.MergeID, drops store.LocalCounts) error {
	names := scope.Keys()
	keys := []string{names.Ledger(), names.Series(r.redisTime()), names.Folds(), names.Drops(), names.Digest(), names.Minutes(r.redisTime())}
	if drops.LearnCategories {
		keys = append(keys, names.Known())
	}
	counted, err := json.Marshal(countsText(drops))
	if err != nil {
		return fmt.Errorf("fold into channel %s: %w: %w", scope.Name, store.ErrRequest, err)
	}
	if err := lua.MergeCounts.Run(ctx, r.scripter, keys, f.Replica, f.Sequence, counted).Err(); err != nil {
		return fmt.Errorf("fold into channel %s: %w", scope.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	return nil
}

// foldJSON is what lua/merge_counts.lua takes.
type foldJSON struct {
	Totals     map[string]int64 `json:"totals,omitempty"`
	Categories map[string]int64 `json:"categories,omitempty"`
	Noted      map[string]int64 `json:"noted,omitempty"`
	Drops      [][]string       `json:"drops,omitempty"`
	Keep       int64            `json:"keep"`
}

func countsText(d store.LocalCounts) foldJSON {
	kept := make([][]string, len(d.Drops))
	for i, k := range d.Drops {
		kept[i] = []string{
			string(k.Payload), k.Category, k.Level, strconv.FormatInt(k.Used, 10), strconv.FormatInt(k.Limit, 10),
			strconv.FormatInt(k.RetryAfter.Microseconds(), 10),
		}
	}
	return foldJSON{Totals: d.Totals, Categories: d.Categories, Noted: d.DigestCounts, Drops: kept, Keep: max(1, d.KeepDrops)}
}
