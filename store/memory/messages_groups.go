package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"slackrelay/store"
)

const (
	maxListed      = 10       // events of a bundle that a message lists
	maxListedBytes = 64 << 10 // of the events that a message lists
	maxMembers     = 2000     // alerts that a message follows beyond those that it lists
)

// bundleHead is the first request of a bundle. The others join its message, or share its outcome.
type bundleHead struct {
	decision decision
	category string
	number   int64 // of its entry; 0 = none
	count    int   // events of the bundle
	over     int   // those of them that the message only counts, and that are over
	message  *store.PostedMessage
	wasKept  bool // the message was remembered when the head was made
	renewed  bool // the head got another message since
	isSent   bool // its message is not in the outbox any more: what joins it is an edit
}

// continuesInCalls reports whether further calls may add to a bundle.
func continuesInCalls(bundle string) bool { return strings.HasPrefix(bundle, "@") }

// newHead notes the first request of a bundle. key names the bundle and the category.
func (m *messageBatch) newHead(key string, d decision, r *store.Request) *bundleHead {
	head := &bundleHead{decision: d, category: r.Category, number: d.number, count: 1}
	if d.number == 0 {
		return head
	}
	head.message = m.posted.message(d.number)
	head.wasKept = head.message != nil
	if !head.wasKept {
		head.message = m.newMessage(r)
	}
	if continuesInCalls(key) {
		head.message.Bundle = key
		m.keep(d.number, head.message)
		m.posted.point("b:"+key, d.number)
	}
	return head
}

// unlisted matches the end of an entry that counts the events beyond those that it lists.
var unlisted = regexp.MustCompile(`\n\+[\d ]+$`)

// resume finds the message of a bundle that continues an earlier call, or returns nil.
func (m *messageBatch) resume(key string, r *store.Request) *bundleHead {
	if !continuesInCalls(key) {
		return nil
	}
	number, message := m.posted.find("b:" + key)
	if message == nil {
		return nil
	}
	head := &bundleHead{
		decision: decision{outcome: store.Admitted}, category: r.Category, number: number,
		count: countAlerts(message), over: int(message.UntrackedResolved), message: message, wasKept: true,
	}
	if m.queue.findDelayed(number) != nil {
		head.decision.outcome = store.Delayed
	} else {
		head.isSent = m.waiting(number) == nil
	}
	if waiting := m.entryOf(number); waiting != nil && !head.isSent {
		waiting.payload = unlisted.ReplaceAll(waiting.payload, nil)
	}
	m.heads[key] = head
	return head
}

// entryOf returns what waits for Slack or for a slot under a number, or nil.
func (m *messageBatch) entryOf(number int64) *entry {
	if waiting := m.queue.findDelayed(number); waiting != nil {
		return waiting
	}
	return m.queue.find(number)
}

// join attaches a request to the message of its bundle. Where the head has no message, the request shares its outcome.
func (m *messageBatch) join(head *bundleHead, r *store.Request) decision {
	d := head.decision
	d.number = 0
	d.thread = 0
	if head.number == 0 {
		if d.outcome == store.Merged {
			d.outcome = m.countOnLast(r)
		}
		return d
	}
	d.outcome = store.Merged
	m.renew(head)
	if isFollowed(r) && stateIn(head.message, r.Event.Fingerprint) != alertUnknown {
		markAlert(head.message, r.Event.Fingerprint, 0)
	} else {
		m.addToHead(head, r)
	}
	m.keepJoined(head, r)
	return d
}

// isFollowed reports whether a request fires an alert that can be recognized later.
func isFollowed(r *store.Request) bool {
	return r.Event.Status != store.Resolved && r.Event.Fingerprint != ""
}

// renew gives a head another message where a resolve took the place of its own.
func (m *messageBatch) renew(head *bundleHead) {
	if !head.wasKept || head.renewed || m.posted.message(head.number) != nil {
		return
	}
	head.renewed = true
	head.message = &store.PostedMessage{
		Category: head.category, At: m.now, Bundle: head.message.Bundle,
		Events: []store.PostedEvent{{Payload: string(m.entryOf(head.number).payload)}},
	}
}

// addToHead adds a request to the message of its bundle.
func (m *messageBatch) addToHead(head *bundleHead, r *store.Request) {
	head.count++
	isListed := addEvent(head.message, r, head.count)
	switch {
	case !isListed && r.Event.Status == store.Resolved:
		head.over++
	case isListed && !head.isSent:
		waiting := m.entryOf(head.number)
		waiting.payload = append(append(slices.Clip(waiting.payload), '\n'), r.Payload()...)
	}
}

// addEvent has a message report one more event, the count-th, and returns whether it lists the event.
func addEvent(message *store.PostedMessage, r *store.Request, count int) (isListed bool) {
	bytes := len(r.Payload())
	for _, event := range message.Events {
		bytes += len(event.Payload)
	}
	switch {
	case len(message.Events) < maxListed && bytes < maxListedBytes:
		event := store.PostedEvent{Payload: string(r.Payload())}
		if isFollowed(r) {
			event.Fingerprint = r.Event.Fingerprint
		}
		message.Events = append(message.Events, event)
		return true
	case isFollowed(r) && count <= maxListed+maxMembers:
		if message.Members == nil {
			message.Members = map[string]int64{}
		}
		message.Members[r.Event.Fingerprint] = 0
	case r.Event.Status == store.Resolved:
		message.UntrackedResolved++
	default:
		message.Untracked++
	}
	return false
}

// keepJoined remembers the message of a bundle since a request joined it.
func (m *messageBatch) keepJoined(head *bundleHead, r *store.Request) {
	number, message, fingerprint := head.number, head.message, r.Event.Fingerprint
	if isFollowed(r) || m.posted.message(number) != nil || message.Events[0].Fingerprint != "" {
		m.keep(number, message)
		if message.Bundle != "" {
			m.posted.point("b:"+message.Bundle, number)
		}
	}
	if isFollowed(r) && head.decision.outcome != store.Delayed {
		m.follow(number, message, fingerprint)
	}
	if r.Event.Status == store.Resolved && fingerprint != "" {
		if resolved, reported := m.posted.find("f:" + fingerprint); reported != nil {
			m.endAlert(resolved, reported, fingerprint)
		}
	}
	if head.isSent {
		m.edit(number, message, m.now)
	}
}

// appendUnlisted adds to the entry of a bundle how many events it does not list, and how many of them are over.
func (m *messageBatch) appendUnlisted(head *bundleHead) {
	waiting := m.entryOf(head.number)
	if waiting == nil || head.isSent || head.message == nil || head.count <= len(head.message.Events) {
		return
	}
	waiting.payload = fmt.Appendf(slices.Clip(waiting.payload), "\n+%d", head.count-len(head.message.Events))
	if head.over > 0 {
		waiting.payload = fmt.Appendf(waiting.payload, " %d", head.over)
	}
}
