package memory

import "slackrelay/store"

// attach decides a request by the messages that were posted before. The zero decision means that they do not decide it.
// Delayed stands for a resolve or an update whose firing may wait for a slot: it waits too.
func (m *messageBatch) attach(r *store.Request) decision {
	e := r.Event
	if e.ReplyTo != "" {
		return decision{thread: m.numberOf("f:" + e.ReplyTo)}
	}
	if e.Fingerprint == "" || e.Status == "" {
		return decision{}
	}
	number, message := m.posted.find("f:" + e.Fingerprint)
	switch {
	case e.Status == store.Firing:
		return m.countRepeat(number, message, r)
	case message == nil || e.Status == store.Resolved && stateIn(message, e.Fingerprint) == alertOver:
		return m.withoutFiring()
	case e.Status == store.Update:
		return m.update(number, message, r)
	default:
		return m.resolve(number, message, r)
	}
}

// numberOf returns the number of the message that a name stands for, 0 where it is not kept.
func (m *messageBatch) numberOf(name string) int64 {
	number, message := m.posted.find(name)
	if message == nil {
		return 0
	}
	return number
}

func attachedAs(outcome store.Outcome) decision {
	return decision{outcome: outcome, attached: true}
}

// withoutFiring decides a resolve or an update of what was never posted.
func (m *messageBatch) withoutFiring() decision {
	if m.othersWait() {
		return attachedAs(store.Delayed)
	}
	return attachedAs(store.Suppressed)
}
