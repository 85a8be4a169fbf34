package memory

import "slackrelay/store"

// countRepeat counts a firing on the message that reports it. What was over and fires again is counted, too, while
// anything else in that message fires; else it is new.
func (m *messageBatch) countRepeat(number int64, message *store.PostedMessage, r *store.Request) decision {
	if message == nil || !m.policy.Repeats || isUnreachable(message) || m.batch.isPromotion() && isBundle(r) {
		return decision{}
	}
	at := m.nextEdit(message)
	if stateIn(message, r.Event.Fingerprint) == alertOver {
		if !isAnyFiring(message) {
			return decision{}
		}
		markAlert(message, r.Event.Fingerprint, 0)
		at = m.now
	}
	message.Repeats++
	message.LastRepeat = m.now
	m.edit(number, message, at)
	return attachedAs(store.Merged)
}

// update replaces the text that a message has for an alert: where it waits, or by an edit.
func (m *messageBatch) update(number int64, message *store.PostedMessage, r *store.Request) decision {
	if isUnreachable(message) {
		return decision{}
	}
	for i := range message.Events {
		if message.Events[i].Fingerprint == r.Event.Fingerprint {
			message.Events[i].Payload = string(r.Payload())
		}
	}
	if waiting := m.waiting(number); waiting != nil {
		waiting.at = m.now
		waiting.payload = r.Payload()
		m.keep(number, message)
	} else {
		m.edit(number, message, m.now)
	}
	return attachedAs(store.Merged)
}

// resolve decides a resolve of an alert that a message reports as firing. It takes the place of a message that still
// waits, edits one that was posted, or replies to it.
func (m *messageBatch) resolve(number int64, message *store.PostedMessage, r *store.Request) decision {
	switch {
	case countAlerts(message) == 1 && m.waiting(number) != nil:
		m.supersede(number, message, r)
		return attachedAs(store.Admitted)
	case !m.canEdit(message):
		return decision{thread: number}
	default:
		m.endAlert(number, message, r.Event.Fingerprint)
		return attachedAs(store.Merged)
	}
}

// supersede puts a resolve in the place of its firing, and for its slot.
func (m *messageBatch) supersede(number int64, message *store.PostedMessage, r *store.Request) {
	m.endEarlierAlerts(message, r.Event.Fingerprint)
	waiting := m.queue.find(number)
	waiting.at = m.now
	waiting.payload = r.Payload()
	waiting.attempts = 0
	waiting.faults = 0
	waiting.name = ""
	m.posted.forget(number)
	m.batch.tx.ledger()["superseded"]++
}
