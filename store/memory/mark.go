package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"slackrelay/store"
)

// Mark implements [store.Queue]. It is the twin of lua/mark.lua.
func (s *Store) Mark(
	_ context.Context, channel store.Channel, change store.MarkChange,
) (result store.MarkResult, found *store.PostedMessage, err error) {
	if err := change.Validate(); err != nil {
		return 0, nil, fmt.Errorf("mark message %d of channel %s: %w", change.Message, channel.Name, err)
	}
	s.do(channel, func(tx channelTx) {
		marked := tx.posted().messages[change.Message]
		if marked == nil || marked.TS == "" || marked.TS != change.Place.TS || marked.Channel != change.Place.Channel {
			result = store.MarkNoMessage
			return
		}
		result = marked.change(change, tx.now)
		if result == store.MarkChanged {
			tx.editNow(marked)
		}
		found = marked.clone()
	})
	return result, found, nil
}

// change sets or removes a mark, if the message is firing and there is something to change.
func (m *message) change(c store.MarkChange, now int64) store.MarkResult {
	mark := &m.Acknowledged
	if c.Kind == store.MarkMuted {
		mark = &m.Muted
	}
	switch {
	case !m.IsFiring():
		return store.MarkOver
	case c.Remove && (*mark == nil || c.Mark.Silence != "" && c.Mark.Silence != (*mark).Silence), !c.Remove && *mark != nil:
		return store.MarkUnchanged
	case c.Remove:
		*mark = nil
	default:
		*mark = &store.Mark{User: c.Mark.User, Name: c.Mark.Name, Silence: c.Mark.Silence, At: now}
		if duration := c.For.Microseconds(); duration > 0 {
			(*mark).Until = now + duration
		}
	}
	return store.MarkChanged
}

// editNow enqueues an edit of a message. One that nobody began to send is used again.
func (tx channelTx) editNow(edited *message) {
	queue := tx.outbox()
	last := queue.find(edited.LastEdit)
	switch {
	case !last.isUnsent():
		edited.LastEdit = queue.addExtra(tx.now, tx.now, store.KindEdit, strconv.AppendInt(nil, edited.number, 10))
	case edited.EditDue > tx.now:
		queue.postpone(last, tx.now)
	default:
		return
	}
	edited.EditDue = tx.now
	tx.lookNow(store.WorkSend)
}

// clone returns what is remembered of the message.
func (m *message) clone() *store.PostedMessage {
	clone := m.PostedMessage
	clone.Events, clone.Members, clone.Earlier = slices.Clone(m.Events), maps.Clone(m.Members), slices.Clone(m.Earlier)
	return &clone
}
