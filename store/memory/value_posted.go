package memory

import (
	"cmp"
	"maps"
	"slices"

	"slackrelay/store"
)

// posted are the messages that are remembered, by number. A name stands for the newest message of a fingerprint ("f:"),
// a category ("c:") or a bundle ("b:").
type posted struct {
	messages map[int64]*store.PostedMessage
	newest   map[string]int64
	changed  map[int64]int64 // when each message was last kept
}

// keep remembers a message.
func (p *posted) keep(number int64, message *store.PostedMessage, now int64) {
	if p.messages == nil {
		p.messages = map[int64]*store.PostedMessage{}
		p.newest = map[string]int64{}
		p.changed = map[int64]int64{}
	}
	p.messages[number] = message
	p.changed[number] = now
}

// maxPostedBytes bounds the size of all messages together, as in the scripts.
const maxPostedBytes = 32 << 20

// prune forgets the messages that were last kept until a time, and the oldest ones above maxPostedBytes.
func (p *posted) prune(until int64) {
	bytes := 0
	for number, at := range p.changed {
		if at <= until {
			p.forget(number)
		} else {
			bytes += messageSize(p.messages[number])
		}
	}
	if bytes <= maxPostedBytes {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(p.changed), func(a, b int64) int {
		return cmp.Or(cmp.Compare(p.changed[a], p.changed[b]), cmp.Compare(a, b))
	})
	for _, number := range oldest {
		if bytes <= maxPostedBytes {
			return
		}
		bytes -= messageSize(p.messages[number])
		p.forget(number)
	}
}

// messageSize is about how many bytes Redis would keep.
func messageSize(m *store.PostedMessage) int {
	size := recordOverhead
	for i := range m.Events {
		size += len(m.Events[i].Payload)
	}
	return size
}

// forget removes a message and its names.
func (p *posted) forget(number int64) {
	delete(p.messages, number)
	delete(p.changed, number)
	maps.DeleteFunc(p.newest, func(_ string, n int64) bool { return n == number })
}

// find returns the number and the message that a name stands for. The message is nil where the name is unknown.
func (p *posted) find(name string) (int64, *store.PostedMessage) {
	number := p.newest[name]
	return number, p.messages[number]
}

// point lets a name stand for a message that was kept.
func (p *posted) point(name string, number int64) { p.newest[name] = number }

// message returns the message of a number, or nil. It works on nil.
func (p *posted) message(number int64) *store.PostedMessage {
	if p == nil {
		return nil
	}
	return p.messages[number]
}
