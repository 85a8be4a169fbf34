package memory

import (
	"math/bits"
	"time"

	"slackrelay/store"
)

// recordDrop adds a drop to the log of the channel, which keeps at most this many.
func (tx channelTx) recordDrop(drop store.Drop, keep int64) {
	drops := tx.drops()
	drop.ID = drops.nextID(tx.time)
	drop.At = tx.time
	drop.Payload = append([]byte{}, drop.Payload...) // never nil, as those that are read from Redis
	drop.RetryAfter = drop.RetryAfter.Truncate(time.Microsecond)
	drops.add(drop, drop.Payload, keep, maxDropBytes)
}

// noteDrop records a dropped request, and counts it for the digest. A resolve of what was never posted is no loss that a
// digest would report.
func (m *messageBatch) noteDrop(r *store.Request, d decision) {
	drop := m.dropOf(r, d)
	if m.policy.KeepDrops > 0 {
		m.batch.tx.recordDrop(drop, m.policy.KeepDrops)
	}
	if m.policy.Digest && d.outcome != store.Suppressed {
		digestCounts := map[string]int64{}
		r.AddDigestCounts(digestCounts, drop.Level, 1)
		m.batch.tx.noteForDigest(digestCounts)
	}
}

// dropOf describes why a request was dropped: by its outcome, or by the first level that refused it.
func (m *messageBatch) dropOf(r *store.Request, d decision) store.Drop {
	drop := store.Drop{Payload: r.Payload(), Category: r.Category, Level: d.outcome.String(), Used: -1, Limit: -1}
	if d.outcome != store.Dropped {
		return drop
	}
	level, window := d.refusal.by.Levels[bits.TrailingZeros64(uint64(d.refusal.levels))], d.refusal.window //nolint:gosec // bits of levels
	drop.Level = level.Name
	drop.Limit = level.Windows[window].Limit
	drop.Used = m.batch.used(m.batch.plan.LevelNumber(level) - 1)[window]
	drop.RetryAfter = store.Microseconds(d.refusal.retryAt - m.now)
	return drop
}
