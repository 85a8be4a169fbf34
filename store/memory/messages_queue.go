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
	return store.Delayed, m.queue.seq
}

// othersWait reports whether delayed requests wait for a slot before this one.
func (m *messageBatch) othersWait() bool {
	return m.policy.Overflow == store.OverflowDelay && !m.batch.isPromotion() && len(m.queue.delayed) > 0
}

// waitsBehindOthers reports whether a request has to wait because others do, so that the order is kept.
func (m *messageBatch) waitsBehindOthers() bool { return m.othersWait() && !m.batch.isForced() }
