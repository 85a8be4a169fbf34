package memory

import (
	"context"

	"slackrelay/store"
)

// MergeCounts implements [store.Replication]. It is the twin of lua/merge_counts.lua.
func (s *Store) MergeCounts(_ context.Context, channel store.Channel, id store.MergeID, local store.LocalCounts) error {
	s.do(channel, func(tx channelTx) {
		if !tx.noteMerge(id) {
			return
		}
		ledger := tx.ledger()
		for name, n := range local.Totals {
			ledger[name] += n
		}
		for _, drop := range local.Drops {
			tx.recordDrop(drop, max(1, local.KeepDrops))
		}
		tx.noteForDigest(local.DigestCounts)
		for category, n := range local.Categories {
			tx.countInSeries(category, store.Dropped, n)
			if local.LearnCategories {
				tx.numbers(tx.keys.Known())[category] = tx.now
			}
		}
	})
	return nil
}

// noteMerge remembers the sequence of a replica's last merge, and reports whether the merge is new.
func (tx channelTx) noteMerge(id store.MergeID) bool {
	key := tx.keys.MergeSequences()
	last := tx.numbers(key)
	if last[id.Replica] >= id.Sequence {
		return false
	}
	last[id.Replica] = id.Sequence
	tx.expire(key, seriesTTL)
	return true
}
