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
	messages map[int64]postedMessage
	newest   map[string]int64
}

type postedMessage struct {
	*store.PostedMessage
	keptAt int64
}

// bytes is about how many bytes Redis would keep.
func (m postedMessage) bytes() int {
	bytes := recordOverhead
	for i := range m.Events {
		bytes += len(m.Events[i].Payload)
	}
	return bytes
}

// keep remembers a message.
func (p *posted) keep(number int64, message *store.PostedMessage, now int64) {
	if p.messages == nil {
		p.messages = map[int64]postedMessage{}
		p.newest = map[string]int64{}
	}
	p.messages[number] = postedMessage{message, now}
}

// maxPostedBytes bounds the size of all messages together, as in the scripts.
const maxPostedBytes = 32 << 20

// prune forgets the messages that were last kept until a time, and the oldest ones above maxPostedBytes.
func (p *posted) prune(until int64) {
	before, bytes := len(p.messages), 0
	for number, message := range p.messages {
		if message.keptAt <= until {
			delete(p.messages, number)
		} else {
			bytes += message.bytes()
		}
	}
	if bytes > maxPostedBytes {
		p.deleteOldest(bytes - maxPostedBytes)
	}
	if len(p.messages) < before {
		p.deleteNames()
	}
}

// deleteOldest deletes the oldest messages, until they have at least this many bytes.
func (p *posted) deleteOldest(bytes int) {
	oldest := slices.SortedFunc(maps.Keys(p.messages), func(a, b int64) int {
		return cmp.Or(cmp.Compare(p.messages[a].keptAt, p.messages[b].keptAt), cmp.Compare(a, b))
	})
	for i := 0; bytes > 0; i++ {
		bytes -= p.messages[oldest[i]].bytes()
		delete(p.messages, oldest[i])
	}
}

// deleteNames deletes the names of messages that were deleted.
func (p *posted) deleteNames() {
	maps.DeleteFunc(p.newest, func(_ string, number int64) bool { return p.message(number) == nil })
}

// forget deletes a message and its names.
func (p *posted) forget(number int64) {
	if p.message(number) != nil {
		delete(p.messages, number)
		p.deleteNames()
	}
}

// message returns the message of a number, or nil.
func (p *posted) message(number int64) *store.PostedMessage { return p.messages[number].PostedMessage }

// find returns the number and the message that a name stands for. The message is nil where the name is unknown.
func (p *posted) find(name string) (int64, *store.PostedMessage) {
	number := p.newest[name]
	return number, p.message(number)
}

// point lets a name stand for a message that was kept.
func (p *posted) point(name string, number int64) { p.newest[name] = number }
