package memory

import (
	"strconv"

	"slackrelay/store"
)

// edit enqueues an edit of a message for a time. An edit that nobody began to send is used again.
func (m *messageBatch) edit(number int64, message *store.PostedMessage, at int64) {
	m.keep(number, message)
	switch last := m.queue.find(message.LastEdit); {
	case !last.isUnsent():
		message.LastEdit = m.queue.addExtra(m.now, at, store.KindEdit, strconv.AppendInt(nil, number, 10))
		message.EditDue = at
	case message.EditDue > at:
		message.EditDue = at
		m.queue.postpone(last, at)
	}
}

// nextEdit is when a count on a message may be edited next.
func (m *messageBatch) nextEdit(message *store.PostedMessage) int64 {
	return max(m.now, message.EditDue+m.policy.EditInterval().Microseconds())
}

// waiting returns the entry of a message that is in the outbox and that nobody began to send, or nil.
func (m *messageBatch) waiting(number int64) *entry {
	if found := m.queue.find(number); found.isUnsent() && !found.isExtra {
		return found
	}
	return nil
}
