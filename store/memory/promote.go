package memory

import (
	"bytes"
	"context"
	"slices"

	"slackrelay/store"
)

// Promote implements [store.Admissions]. It is the twin of lua/promote.lua.
func (s *Store) Promote(_ context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.decide(store.ModePromote, channel, requests)
}

// isPromotion reports whether the batch is the twin of lua/promote.lua: its requests wait for a slot already.
func (b *batch) isPromotion() bool { return b.plan.Mode == store.ModePromote }

// waitingAt returns the position of a request among the delayed entries, or -1. The number alone does not identify it: a
// store that lost its newest data gives numbers again.
func (m *messageBatch) waitingAt(r *store.Request) int {
	return slices.IndexFunc(m.queue.delayed, func(e entry) bool {
		return e.number == r.Delayed && e.category == r.Category && bytes.Equal(e.payload, r.Payload())
	})
}

// hasWaitedTooLong reports whether a delayed request is older than the policy allows.
func (m *messageBatch) hasWaitedTooLong(r *store.Request) bool {
	i := m.waitingAt(r)
	return i >= 0 && m.now-m.queue.delayed[i].at > m.policy.MaxDelay.Microseconds()
}

// leaveDelayed removes a request from the delayed entries.
func (m *messageBatch) leaveDelayed(r *store.Request) {
	if i := m.waitingAt(r); i >= 0 {
		m.queue.delayed = slices.Delete(m.queue.delayed, i, i+1)
	}
	if isBundle(r) {
		m.posted.forget(r.Delayed)
	}
}
