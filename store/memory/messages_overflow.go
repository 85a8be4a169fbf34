package memory

import "slackrelay/store"

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
	number, message := m.posted.find("c:" + r.Category)
	if message == nil || isUnreachable(message) {
		return store.Dropped
	}
	message.Merged++
	message.MergedAt = m.now
	message.MergedTitle = r.Event.Title
	m.edit(number, message, m.nextEdit(message))
	return store.Merged
}
