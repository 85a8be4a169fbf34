package memory

import (
	"maps"
	"slices"

	"slackrelay/store"
)

// rememberAdmitted remembers the message of an admitted request, so that later events find it.
func (m *messageBatch) rememberAdmitted(d decision, r *store.Request) {
	m.noteAdmission(r.Category)
	if d.thread > 0 {
		m.linkThread(d, r)
	}
	admitted := m.posted.messages[r.Delayed]
	switch {
	case admitted != nil && isBundle(r):
		m.adopt(admitted, d.number)
	case r.Event.Status != store.Resolved && (r.Event.Fingerprint != "" || m.policy.Overflow == store.OverflowMerge):
		admitted = m.newMessage(d.number, r)
		m.keepFollowed(admitted, r.Event.Fingerprint)
	default:
		return // no later event can concern it
	}
	if m.policy.Overflow == store.OverflowMerge {
		m.posted.point("c:"+r.Category, admitted)
	}
}

// noteAdmission notes for the digest that something of a category was admitted.
func (m *messageBatch) noteAdmission(category string) {
	if m.policy.Digest {
		key := m.batch.tx.keys.LastAdmitted()
		lastAdmitted := m.batch.tx.numbers(key)
		lastAdmitted[category] = m.now
		forgetOldest(lastAdmitted, store.MaxCategories)
		m.batch.tx.expire(key, 2*seriesTTL)
	}
}

// linkThread notes the message that a request replies to. A resolve ends the alert there.
func (m *messageBatch) linkThread(d decision, r *store.Request) {
	isResolve := r.Event.Status == store.Resolved
	if isResolve {
		m.endAlert(m.posted.messages[d.thread], r.Event.Fingerprint)
	}
	if reply := m.queue.find(d.number); reply != nil && (!isResolve || m.policy.Resolves == store.ResolvesReply) {
		reply.thread = d.thread
	}
}

// keepFollowed remembers a message, and lets it stand for the alert that it reports, if it has one.
func (m *messageBatch) keepFollowed(admitted *message, fingerprint string) {
	m.keep(admitted)
	if fingerprint != "" {
		m.follow(admitted, fingerprint)
	}
}

func (m *messageBatch) newMessage(number int64, r *store.Request) *message {
	return &message{number: number, PostedMessage: store.PostedMessage{
		Category: r.Category, At: m.now, Events: []store.PostedEvent{postedEvent(r)},
	}}
}

// postedEvent is what a message remembers of an event that it lists.
func postedEvent(r *store.Request) store.PostedEvent {
	event := store.PostedEvent{Payload: string(r.Payload())}
	if isFollowed(r) {
		event.Fingerprint = r.Event.Fingerprint
	}
	return event
}

// adopt lets a message that waited for a slot as a bundle stand for what it reports, under the number of its entry.
func (m *messageBatch) adopt(waited *message, number int64) {
	m.posted.forget(waited.number)
	waited.number = number
	waited.At = m.now
	m.keepBundle(waited)
	for _, event := range waited.Events {
		if event.Fingerprint != "" {
			m.follow(waited, event.Fingerprint)
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(waited.Members)) {
		m.follow(waited, fingerprint)
	}
}

// endAlertSince notes that an alert was over at a time. What fires after it is another alert.
func (m *messageBatch) endAlertSince(fingerprint string, at int64) {
	if last := m.posted.find("f:" + fingerprint); last != nil && last.At <= at {
		m.endAlert(last, fingerprint)
	}
}

// rememberDelivered remembers a message that was posted while the store was away.
func (m *messageBatch) rememberDelivered(number, at int64, r *store.Request) {
	m.noteAdmission(r.Category)
	past, fingerprint := r.OutageResult(), r.Event.Fingerprint
	isLastOfCategory := m.policy.Overflow == store.OverflowMerge && past.TS != ""
	if r.Event.Status == store.Resolved || r.Event.Status == store.Update || fingerprint == "" && !isLastOfCategory {
		return
	}
	if fingerprint != "" && m.staysWithEarlier(fingerprint, at, past) {
		return
	}
	delivered := m.newMessage(number, r)
	delivered.At = at
	delivered.InSlack = true
	delivered.TS = past.TS
	delivered.Channel = past.Channel
	if past.TS == "" {
		delivered.Events[0].Payload = ""
	}
	m.keepFollowed(delivered, fingerprint)
	if isLastOfCategory {
		m.posted.point("c:"+r.Category, delivered)
	}
}

// staysWithEarlier reports whether another message keeps standing for an alert: one that can be edited or replied to, while
// nobody knows where the delivered one is, or one that is newer.
func (m *messageBatch) staysWithEarlier(fingerprint string, at int64, past store.OutageResult) bool {
	earlier := m.posted.find("f:" + fingerprint)
	return earlier != nil && !earlier.isUnreachable() && (past.TS == "" || earlier.At > at)
}
