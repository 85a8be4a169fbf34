package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

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
func (m *messageBatch) hasWaitedTooLong(r *store.Request) bool { return m.now > m.dropsAt(r) }

// dropsAt returns until when a request may be delayed.
func (m *messageBatch) dropsAt(r *store.Request) int64 {
	return m.queue.delayed[m.waitingAt(r)].at + m.policy.MaxDelay.Microseconds()
}

// How soon delayed requests are decided again, in microseconds; limits may be raised, and units refunded.
const (
	minPromotionWait = int64(100 * time.Millisecond / time.Microsecond)
	maxPromotionWait = int64(10 * time.Second / time.Microsecond)
)

// noteNextPromotion notes when a request may fit, or has waited too long. If it is delayed no more, the next of its category
// takes its place.
func (b *batch) noteNextPromotion(r *store.Request, d decision) {
	at := b.tx.now
	if d.outcome == store.Delayed {
		at = min(d.refusal.retryAt, b.messages.dropsAt(r)+1)
	}
	b.againAt = min(b.againAt, at)
}

// storeNextPromotion stores when to promote next.
func (b *batch) storeNextPromotion() {
	at := max(b.againAt, b.tx.now+minPromotionWait)
	if len(b.messages.queue.delayed) == 0 {
		at = 0
	}
	b.tx.lookAt(store.WorkPromote, at)
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
