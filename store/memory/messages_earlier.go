package memory

import (
	"slices"
	"strconv"

	"slackrelay/store"
)

// attach decides a request by the messages that were posted before. The zero decision means that they do not decide it.
// Delayed stands for a resolve or an update whose firing may wait for a slot: it waits too.
func (m *messageBatch) attach(r *store.Request) decision {
	e := r.Event
	if e.ReplyTo != "" {
		return replyTo(m.posted.find("f:" + e.ReplyTo))
	}
	if e.Fingerprint == "" || e.Status == "" {
		return decision{}
	}
	earlier := m.posted.find("f:" + e.Fingerprint)
	switch {
	case e.Status == store.Firing:
		return m.countRepeat(earlier, r)
	case earlier == nil || e.Status == store.Resolved && earlier.stateOf(e.Fingerprint) == alertOver:
		return m.withoutFiring()
	case e.Status == store.Update:
		return m.update(earlier, r)
	default:
		return m.resolve(earlier, r)
	}
}

func attachedAs(outcome store.Outcome) decision { return decision{outcome: outcome, attached: true} }

// replyTo lets the levels decide a reply to a message. Where the message is not kept, it replies to none.
func replyTo(earlier *message) decision {
	if earlier == nil {
		return decision{}
	}
	return decision{thread: earlier.number}
}

// withoutFiring decides a resolve or an update of what was never posted.
func (m *messageBatch) withoutFiring() decision {
	if m.othersWait() {
		return attachedAs(store.Delayed)
	}
	return attachedAs(store.Suppressed)
}

// countRepeat counts a firing on the message that reports it. What was over and fires again is counted, too, while
// anything else in that message fires; else it is new. A message that somebody acknowledged counts its repeats whatever
// the policy is, but no alert that was over.
func (m *messageBatch) countRepeat(earlier *message, r *store.Request) decision {
	if earlier == nil || earlier.isUnreachable() || m.batch.isPromotion() && isBundle(r) {
		return decision{}
	}
	isOver := earlier.stateOf(r.Event.Fingerprint) == alertOver
	if !m.policy.Repeats && (earlier.Acknowledged == nil || isOver) {
		return decision{}
	}
	at := m.nextEdit(earlier)
	if isOver {
		if !earlier.isFiring() {
			return decision{}
		}
		earlier.mark(r.Event.Fingerprint, 0)
		at = m.now
	}
	earlier.Repeats++
	earlier.LastRepeat = m.now
	m.edit(earlier, at)
	return attachedAs(store.Merged)
}

// update replaces the text that a message has for an alert: where it waits, or by an edit.
func (m *messageBatch) update(earlier *message, r *store.Request) decision {
	if earlier.isUnreachable() {
		return decision{}
	}
	for i := range earlier.Events {
		if earlier.Events[i].Fingerprint == r.Event.Fingerprint {
			earlier.Events[i].Payload = string(r.Payload())
		}
	}
	if waiting := m.waiting(earlier.number); waiting != nil {
		waiting.at = m.now
		waiting.payload = r.Payload()
		m.keep(earlier)
	} else {
		m.edit(earlier, m.now)
	}
	return attachedAs(store.Merged)
}

// resolve decides a resolve of an alert that a message reports as firing. It takes the place of a message that still
// waits, edits one that was posted, or replies to it.
func (m *messageBatch) resolve(earlier *message, r *store.Request) decision {
	waiting := m.waiting(earlier.number)
	switch {
	case waiting != nil && earlier.count() == 1:
		m.supersede(waiting, earlier, r)
		return attachedAs(store.Admitted)
	case !m.canEdit(earlier):
		return replyTo(earlier)
	default:
		isOnlyCounted := earlier.stateOf(r.Event.Fingerprint) == alertUnknown
		m.endAlert(earlier, r.Event.Fingerprint)
		if isOnlyCounted {
			m.endCounted(earlier, r.Event.Fingerprint)
		}
		return attachedAs(store.Merged)
	}
}

// supersede puts a resolve in the place of its firing, and for its slot.
func (m *messageBatch) supersede(waiting *entry, firing *message, r *store.Request) {
	m.endAlertIn(slices.Clone(firing.Earlier), firing, r.Event.Fingerprint)
	waiting.at = m.now
	waiting.payload = r.Payload()
	waiting.attempts = 0
	waiting.faults = 0
	waiting.name = ""
	m.posted.forget(firing.number)
	m.batch.tx.ledger()["superseded"]++
}

// edit enqueues an edit of a message for a time. An edit that nobody began to send is used again.
func (m *messageBatch) edit(changed *message, at int64) {
	m.keep(changed)
	switch last := m.queue.find(changed.LastEdit); {
	case !last.isUnsent():
		changed.LastEdit = m.queue.addExtra(m.now, at, store.KindEdit, strconv.AppendInt(nil, changed.number, 10))
		changed.EditDue = at
		m.batch.tx.lookNow(store.WorkSend)
	case changed.EditDue > at:
		changed.EditDue = at
		m.queue.postpone(last, at)
		m.batch.tx.lookNow(store.WorkSend)
	}
}

// nextEdit is when a count on a message may be edited next.
func (m *messageBatch) nextEdit(earlier *message) int64 {
	return max(m.now, earlier.EditDue+m.policy.EditInterval().Microseconds())
}

// waiting returns the entry of a message that is in the outbox and that nobody began to send, or nil.
func (m *messageBatch) waiting(number int64) *entry {
	if found := m.queue.find(number); found.isUnsent() && !found.isExtra {
		return found
	}
	return nil
}
