package memory

import "slackrelay/store"

// endAlertSince notes that an alert was over at a time. What fires after it is another alert.
func (m *messageBatch) endAlertSince(fingerprint string, at int64) {
	if number, message := m.posted.find("f:" + fingerprint); message != nil && message.At <= at {
		m.endAlert(number, message, fingerprint)
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
	event := store.PostedEvent{Fingerprint: fingerprint}
	if past.TS != "" {
		event.Payload = string(r.Payload())
	}
	message := &store.PostedMessage{
		Category: r.Category, At: at, Events: []store.PostedEvent{event}, InSlack: true, TS: past.TS, Channel: past.Channel,
	}
	m.keep(number, message)
	if fingerprint != "" {
		m.follow(number, message, fingerprint)
	}
	if isLastOfCategory {
		m.posted.point("c:"+r.Category, number)
	}
}

// staysWithEarlier reports whether another message keeps standing for an alert: one that can be edited or replied to, while
// nobody knows where the delivered one is, or one that is newer.
func (m *messageBatch) staysWithEarlier(fingerprint string, at int64, past store.OutageResult) bool {
	_, earlier := m.posted.find("f:" + fingerprint)
	return earlier != nil && !isUnreachable(earlier) && (past.TS == "" || earlier.At > at)
}
