package memory

import (
	"fmt"
	"regexp"

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
	message  *message // nil = it was dropped, or attached to another message
	count    int      // events of the bundle
	wasKept  bool     // the message was remembered when the head was made
	renewed  bool     // the head got another message since
	grew     bool     // the message got another event
	isSent   bool     // its message is not in the outbox any more: what joins it is an edit
}

// headOf returns the head of a request's bundle: the one that has a message, or the one of the same category that was
// refused; nil = there is none.
func (m *messageBatch) headOf(r *store.Request) *bundleHead {
	if head := m.heads[r.Event.Bundle]; head != nil {
		return head
	}
	return m.heads[r.Event.Bundle+" "+r.Category]
}

// newHead notes the first request of a bundle.
func (m *messageBatch) newHead(d decision, r *store.Request) {
	bundle := r.Event.Bundle
	head := &bundleHead{decision: d, count: 1}
	if d.number == 0 {
		m.heads[bundle+" "+r.Category] = head
		return
	}
	m.heads[bundle] = head
	head.message = m.posted.messages[d.number]
	head.wasKept = head.message != nil
	if !head.wasKept {
		head.message = m.newMessage(d.number, r)
	}
	if r.Event.BundleOutlivesCall() {
		head.message.Bundle = bundle
		m.keepBundle(head.message)
	}
}

// keepBundle remembers the message of a bundle, and lets it stand for the bundle where further calls may add to it.
func (m *messageBatch) keepBundle(changed *message) {
	m.keep(changed)
	if changed.Bundle != "" {
		m.posted.point("b:"+changed.Bundle, changed)
	}
}

// unlisted matches the end of an entry that counts the events beyond those that it lists.
var unlisted = regexp.MustCompile(`\n\+[\d ]+$`)

// withoutCount returns a copy of the payload of a bundle without the number of the events that it does not list.
func withoutCount(payload []byte) []byte { return unlisted.ReplaceAll(payload, nil) }

// mayResume reports whether a request of a later call may join a message. A group of a sender has one message as long as
// one of its alerts is firing. Where repeats are posted, a repeat begins another.
func (m *messageBatch) mayResume(begun *message, r *store.Request) bool {
	if !r.Event.InGroup() {
		return true
	}
	if begun.isUnreachable() || !begun.IsFiring() {
		return false
	}
	return m.policy.Repeats || r.Event.Status != store.Firing || begun.stateOf(r.Event.Fingerprint) != alertFiring
}

// resume finds the message of a bundle that continues an earlier call, or returns nil.
func (m *messageBatch) resume(r *store.Request) *bundleHead {
	if !r.Event.BundleOutlivesCall() {
		return nil
	}
	begun := m.posted.find("b:" + r.Event.Bundle)
	if begun == nil || !m.mayResume(begun, r) {
		return nil
	}
	head := &bundleHead{
		decision: decision{outcome: store.Admitted}, message: begun,
		count: begun.count(), wasKept: true,
	}
	if m.queue.findDelayed(begun.number) != nil {
		head.decision.outcome = store.Delayed
	} else {
		head.isSent = m.waiting(begun.number) == nil
	}
	m.heads[r.Event.Bundle] = head
	return head
}

// entryOf returns the entry of a message that waits for Slack or for a slot, or nil.
func (m *messageBatch) entryOf(queued *message) *entry {
	if waiting := m.queue.findDelayed(queued.number); waiting != nil {
		return waiting
	}
	return m.queue.find(queued.number)
}

// join attaches a request to the message of its bundle. Where the head has no message, the request shares its outcome.
func (m *messageBatch) join(head *bundleHead, r *store.Request) decision {
	d := head.decision
	d.number = 0
	d.thread = 0
	d.refusal.shadow = 0
	if head.message == nil {
		if d.outcome == store.Merged {
			d.outcome = m.countOnLast(r)
		}
		return d
	}
	d.outcome = store.Merged
	m.renew(head)
	if isFollowed(r) && head.message.stateOf(r.Event.Fingerprint) != alertUnknown {
		head.message.mark(r.Event.Fingerprint, 0)
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
	before := head.message
	if !head.wasKept || head.renewed || m.posted.messages[before.number] != nil {
		return
	}
	head.renewed = true
	head.message = &message{number: before.number, PostedMessage: store.PostedMessage{
		Category: before.Category, At: m.now, Bundle: before.Bundle,
		Events: []store.PostedEvent{{Payload: string(m.entryOf(before).payload)}},
	}}
}

// addToHead adds a request to the message of its bundle.
func (m *messageBatch) addToHead(head *bundleHead, r *store.Request) {
	head.count++
	head.grew = true
	if head.message.addEvent(r, head.count) && !head.isSent {
		waiting := m.entryOf(head.message)
		waiting.payload = append(append(withoutCount(waiting.payload), '\n'), r.Payload()...)
	}
}

// addEvent has the message report one more event, the count-th, and returns whether it lists the event.
func (m *message) addEvent(r *store.Request, count int) (isListed bool) {
	listed := len(r.Payload())
	for _, event := range m.Events {
		listed += len(event.Payload)
	}
	switch {
	case len(m.Events) < maxListed && listed < maxListedBytes:
		m.Events = append(m.Events, postedEvent(r))
		return true
	case isFollowed(r) && count <= maxListed+maxMembers:
		if m.Members == nil {
			m.Members = map[string]int64{}
		}
		m.Members[r.Event.Fingerprint] = 0
	case r.Event.Status == store.Resolved:
		m.UntrackedResolved++
	default:
		m.Untracked++
	}
	return false
}

// keepJoined remembers the message of a bundle since a request joined it.
func (m *messageBatch) keepJoined(head *bundleHead, r *store.Request) {
	joined, fingerprint := head.message, r.Event.Fingerprint
	if isFollowed(r) || m.posted.messages[joined.number] != nil || joined.Events[0].Fingerprint != "" {
		m.keepBundle(joined)
	}
	if isFollowed(r) && head.decision.outcome != store.Delayed {
		m.follow(joined, fingerprint)
	}
	if r.Event.Status == store.Resolved && fingerprint != "" {
		if resolved := m.posted.find("f:" + fingerprint); resolved != nil {
			m.endAlert(resolved, fingerprint)
		}
	}
	if head.isSent {
		m.edit(joined, m.now)
	}
}

// appendUnlisted adds to the entry of a bundle how many events it does not list, and how many of them are over.
func (m *messageBatch) appendUnlisted(head *bundleHead) {
	if !head.grew || head.isSent || head.count <= len(head.message.Events) {
		return
	}
	waiting := m.entryOf(head.message)
	if waiting == nil {
		return
	}
	waiting.payload = fmt.Appendf(withoutCount(waiting.payload), "\n+%d", head.count-len(head.message.Events))
	if over := head.message.UntrackedResolved; over > 0 {
		waiting.payload = fmt.Appendf(waiting.payload, " %d", over)
	}
}
