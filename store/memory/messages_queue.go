package memory

import "slackrelay/store"

const (
	maxDelayedBytes      = 8 << 20
	delayedEntryOverhead = 25 // of an entry beside its payload, as Redis keeps it: its time and its kind
)

// delay lets a request wait for a slot, and returns its number. Where the queue is full, it is dropped.
func (m *messageBatch) delay(r *store.Request) (outcome store.Outcome, number int64) {
	bytes := 0
	for i := range m.queue.delayed {
		bytes += len(m.queue.delayed[i].payload) + delayedEntryOverhead
	}
	if int64(len(m.queue.delayed)) >= m.policy.MaxDelayed || bytes >= maxDelayedBytes {
		return store.Full, 0
	}
	m.queue.seq++
	m.queue.delayed = append(m.queue.delayed, entry{
		number: m.queue.seq, at: m.now, kind: string(store.KindMessage), payload: r.Payload(), category: r.Category,
	})
	m.batch.tx.lookNow(store.WorkPromote)
	return store.Delayed, m.queue.seq
}

// othersWait reports whether delayed requests wait for a slot before this one.
func (m *messageBatch) othersWait() bool {
	return m.policy.Overflow == store.OverflowDelay && !m.batch.isPromotion() && len(m.queue.delayed) > 0
}

// waitsBehindOthers reports whether a request has to wait because others do, so that the order is kept.
func (m *messageBatch) waitsBehindOthers() bool { return m.othersWait() && !m.batch.isForced() }

// overflow decides a request that levels refuse: delayed, merged or dropped. It returns the number of its entry where it
// waits.
func (m *messageBatch) overflow(r *store.Request, path store.Path, refusal refusal) (outcome store.Outcome, number int64) {
	switch {
	case m.batch.isPromotion() && m.hasWaitedTooLong(r):
		return store.Full, 0
	case m.batch.isPromotion():
		return store.Delayed, 0
	case m.policy.Overflow == store.OverflowDelay:
		return m.delay(r)
	case m.policy.Overflow == store.OverflowMerge && isRefusedByCategory(path, refusal):
		return m.countOnLast(r), 0
	default:
		return store.Dropped, 0
	}
}

// isRefusedByCategory reports whether the category's level is among those that refuse.
func isRefusedByCategory(path store.Path, refusal refusal) bool {
	for i, place := range path.Levels {
		if place == path.CategoryLevel && refusal.levels&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// countOnLast counts a request on the last message of its category. Where there is none, the request is dropped.
func (m *messageBatch) countOnLast(r *store.Request) store.Outcome {
	last := m.posted.find("c:" + r.Category)
	if last == nil || last.isUnreachable() {
		return store.Dropped
	}
	last.Merged++
	last.MergedAt = m.now
	last.MergedTitle = r.Event.Title
	m.edit(last, m.nextEdit(last))
	return store.Merged
}
