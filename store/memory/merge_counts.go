package memory

import (
	"context"

	"slackrelay/lua"
	"slackrelay/store"
)

// MergeCounts implements [store.Replication]. It is the twin of lua/merge_counts.lua.
func (s *Store) MergeCounts(_ context.Context, channel store.Channel, id store.MergeID, local store.LocalCounts) error {
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		if !noteMerge(tx, keys, id) {
			return
		}
		ledger := lookOrCreate[counts](tx, keys.Ledger())
		for name, n := range local.Totals {
			ledger.add(name, n)
		}
		for _, drop := range local.Drops {
			recordDrop(tx, keys, drop, tx.time, max(1, local.KeepDrops))
		}
		noteForDigest(tx, keys, local.DigestCounts)
		for category, n := range local.Categories {
			countInSeries(tx, keys, category, store.Dropped, n)
			if local.LearnCategories {
				lookOrCreate[categoryTimes](tx, keys.Known()).set(category, tx.now)
			}
		}
	})
	return nil
}

// lastMerges are the sequences of the last merge of each replica.
type lastMerges struct{ sequence map[string]int64 }

// noteMerge remembers a merge, and reports whether it is new.
func noteMerge(tx *Tx, keys lua.Keys, id store.MergeID) bool {
	last := lookOrCreate[lastMerges](tx, keys.MergeSequences())
	if last.sequence[id.Replica] >= id.Sequence {
		return false
	}
	if last.sequence == nil {
		last.sequence = map[string]int64{}
	}
	last.sequence[id.Replica] = id.Sequence
	tx.expire(keys.MergeSequences(), seriesTTL)
	return true
}
