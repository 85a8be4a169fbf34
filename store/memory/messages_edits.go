package memory

import (
	"strconv"

	"slackrelay/store"
)

// edit enqueues an edit of a message for a time. An edit that nobody began to send is used again.
func (m *messageBatch) edit(number int64, message *store.PostedMessage, at int64) {
	m.keep(number, message)
	last, _ := m.queue.find(message.LastEdit)
	switch {
	case !last.isUnsent():
		message.LastEdit = m.queue.addExtra(m.now, at, store.KindEdit, strconv.AppendInt(nil, number, 10))
		message.EditDue = at
	case message.EditDue > at:
		message.EditDue = at
		m.queue.postpone(message.LastEdit, at)
	}
}

// nextEdit is when a count on a message may be edited next.
func (m *messageBatch) nextEdit(message *store.PostedMessage) int64 {
	return max(m.now, message.EditDue+m.policy.EditInterval().Microseconds())
}

// isWaiting reports whether a message is in the outbox and nobody began to send it.
func (m *messageBatch) isWaiting(number int64) bool {
	found, isExtra := m.queue.find(number)
	return found.isUnsent() && !isExtra
}
