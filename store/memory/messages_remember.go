package memory

import (
	"maps"
	"slices"

	"slackrelay/lua"
	"slackrelay/store"
)

// rememberAdmitted remembers the message of an admitted request, so that later events find it.
func (m *messageBatch) rememberAdmitted(d messageDecision, r *store.Request) {
	m.noteAdmission(r)
	if d.thread > 0 {
		m.linkThread(d, r)
	}
	waited := m.posted.message(r.Delayed)
	if r.Delayed > 0 && isBundle(r) && waited != nil {
		m.adopt(d.number, r.Delayed, waited)
	} else if !m.rememberNew(d.number, r) {
		return
	}
	if m.policy.Overflow == store.OverflowMerge {
		m.posted.point("c:"+r.Category, d.number)
	}
}

// noteAdmission notes for the digest that something of a category was admitted.
func (m *messageBatch) noteAdmission(r *store.Request) {
	if m.policy.Digest {
		noteAdmission(m.batch.tx, m.batch.keys, r.Category)
	}
}

func noteAdmission(tx *Tx, keys lua.Keys, category string) {
	lastAdmitted := lookOrCreate[categoryTimes](tx, keys.LastAdmitted())
	lastAdmitted.set(category, tx.now)
	lastAdmitted.forget(tx.now - 2*seriesTTL.Microseconds())
}

// linkThread notes the message that a request replies to. A resolve ends the alert there.
func (m *messageBatch) linkThread(d messageDecision, r *store.Request) {
	isResolve := r.Event.Status == store.Resolved
	if isResolve {
		m.endAlert(d.thread, m.posted.message(d.thread), r.Event.Fingerprint)
	}
	if reply, _ := m.queue.find(d.number); reply != nil && (!isResolve || m.policy.Resolves == store.ResolvesReply) {
		reply.thread = d.thread
	}
}

// rememberNew remembers a new message, and reports whether a later event may concern it.
func (m *messageBatch) rememberNew(number int64, r *store.Request) bool {
	fingerprint := r.Event.Fingerprint
	if r.Event.Status == store.Resolved || fingerprint == "" && m.policy.Overflow != store.OverflowMerge {
		return false
	}
	message := m.newMessage(r)
	m.keep(number, message)
	if fingerprint != "" {
		m.follow(number, message, fingerprint)
	}
	return true
}

func (m *messageBatch) newMessage(r *store.Request) *store.PostedMessage {
	event := store.PostedEvent{Payload: string(r.Payload())}
	if r.Event.Status != store.Resolved {
		event.Fingerprint = r.Event.Fingerprint
	}
	return &store.PostedMessage{Category: r.Category, At: m.now, Events: []store.PostedEvent{event}}
}

// adopt lets a message that waited for a slot as a bundle stand for what it reports.
func (m *messageBatch) adopt(number, waited int64, message *store.PostedMessage) {
	m.posted.forget(waited)
	message.At = m.now
	m.keep(number, message)
	for _, event := range message.Events {
		if event.Fingerprint != "" {
			m.follow(number, message, event.Fingerprint)
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(message.Members)) {
		m.follow(number, message, fingerprint)
	}
	if message.Bundle != "" {
		m.posted.point("b:"+message.Bundle, number)
	}
}
