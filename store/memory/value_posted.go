package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"slackrelay/store"
)

// posted are the messages that are remembered, by number. A name stands for the newest message of a fingerprint ("f:"),
// a category ("c:") or a bundle ("b:").
type posted struct {
	messages map[int64]*message
	newest   map[string]int64
	bytes    int   // of all messages
	keptFrom int64 // no message was last kept before
}

// message is a message that is remembered, or that may be.
type message struct {
	store.PostedMessage
	number int64 // of its entry
	keptAt int64 // when it was last remembered
	size   int   // bytes, when it was
}

// bytes is about how many bytes Redis would keep.
func (m *message) bytes() int {
	bytes := recordOverhead
	for i := range m.Events {
		bytes += len(m.Events[i].Payload)
	}
	return bytes
}

// keep remembers a message.
func (p *posted) keep(m *message, now int64) {
	if p.messages == nil {
		p.messages = map[int64]*message{}
		p.newest = map[string]int64{}
	}
	if before := p.messages[m.number]; before != nil {
		p.bytes -= before.size
	}
	m.keptAt = now
	m.size = m.bytes()
	p.messages[m.number] = m
	p.bytes += m.size
	p.keptFrom = min(p.keptFrom, now)
}

// remove deletes a message, and leaves its names.
func (p *posted) remove(m *message) {
	p.bytes -= m.size
	delete(p.messages, m.number)
}

// maxPostedBytes bounds the size of all messages together, as in the scripts.
const maxPostedBytes = 32 << 20

// prune forgets the messages that were last kept until a time, and the oldest ones above maxPostedBytes.
func (p *posted) prune(until int64) {
	if until < p.keptFrom && p.bytes <= maxPostedBytes {
		return
	}
	before := len(p.messages)
	p.keptFrom = math.MaxInt64
	for _, m := range p.messages {
		if m.keptAt <= until {
			p.remove(m)
		} else {
			p.keptFrom = min(p.keptFrom, m.keptAt)
		}
	}
	if p.bytes > maxPostedBytes {
		p.deleteOldest(p.bytes - maxPostedBytes)
	}
	if len(p.messages) < before {
		p.deleteNames()
	}
}

// deleteOldest deletes the oldest messages, until they have at least this many bytes.
func (p *posted) deleteOldest(bytes int) {
	oldest := slices.SortedFunc(maps.Values(p.messages), func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.keptAt, b.keptAt), cmp.Compare(a.number, b.number))
	})
	for i := 0; bytes > 0; i++ {
		bytes -= oldest[i].size
		p.remove(oldest[i])
	}
}

// deleteNames deletes the names of messages that were deleted.
func (p *posted) deleteNames() {
	maps.DeleteFunc(p.newest, func(_ string, number int64) bool { return p.messages[number] == nil })
}

// forget deletes a message and its names.
func (p *posted) forget(number int64) {
	if m := p.messages[number]; m != nil {
		p.remove(m)
		p.deleteNames()
	}
}

// find returns the message that a name stands for, or nil where the name is unknown.
func (p *posted) find(name string) *message { return p.messages[p.newest[name]] }

// point lets a name stand for a message that was kept.
func (p *posted) point(name string, m *message) { p.newest[name] = m.number }
