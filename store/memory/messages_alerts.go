package memory

import (
	"bytes"
	"slices"
	"strconv"

	"slackrelay/store"
)

// maxEarlier is how many earlier messages of the same alerts a message lists. They are changed too when these are over.
const maxEarlier = 16

// alertState is what a message reports of an alert.
type alertState int

const (
	alertUnknown alertState = iota // the message does not report it
	alertFiring
	alertOver
)

// stateOf returns the state of an alert in the message. A message is followed until all of its alerts are over. An
// event without a fingerprint is no alert.
func (m *message) stateOf(fingerprint string) alertState {
	if fingerprint == "" {
		return alertUnknown
	}
	for _, event := range m.Events {
		if event.Fingerprint == fingerprint {
			return stateSince(event.Resolved)
		}
	}
	if overAt, ok := m.Members[fingerprint]; ok {
		return stateSince(overAt)
	}
	return alertUnknown
}

func stateSince(overAt int64) alertState {
	if overAt > 0 {
		return alertOver
	}
	return alertFiring
}

// mark notes when an alert of the message was over; 0 = it fires again.
func (m *message) mark(fingerprint string, overAt int64) {
	for i := range m.Events {
		if m.Events[i].Fingerprint == fingerprint {
			m.Events[i].Resolved = overAt
		}
	}
	if _, ok := m.Members[fingerprint]; ok {
		m.Members[fingerprint] = overAt / 1_000_000
	}
}

// count is how many events the message reports.
func (m *message) count() int {
	return len(m.Events) + len(m.Members) + int(m.UntrackedResolved) + int(m.Untracked)
}

// isUnreachable reports whether the message is in Slack, and nobody knows where: it can be neither edited nor replied to.
func (m *message) isUnreachable() bool { return m.InSlack && m.TS == "" }

// isBundle reports whether a request is a bundle that waited for a slot.
func isBundle(r *store.Request) bool { return bytes.ContainsRune(r.Payload(), '\n') }

// canEdit reports whether a message can be edited. The text of what was posted while the store was away is not known.
func (m *messageBatch) canEdit(posted *message) bool {
	return m.policy.Resolves == store.ResolvesEdit && !posted.isUnreachable() &&
		len(posted.Events) > 0 && posted.Events[0].Payload != ""
}

// follow lets a message stand for an alert. An earlier message that reports it as firing is listed in the new one.
func (m *messageBatch) follow(newest *message, fingerprint string) {
	earlier := m.posted.find("f:" + fingerprint)
	if earlier != nil && earlier.number != newest.number && earlier.stateOf(fingerprint) == alertFiring {
		name := strconv.FormatInt(earlier.number, 10)
		if !slices.Contains(newest.Earlier, name) {
			newest.Earlier = append(newest.Earlier, name)
			newest.Earlier = slices.Delete(newest.Earlier, 0, max(0, len(newest.Earlier)-maxEarlier))
		}
	}
	m.posted.point("f:"+fingerprint, newest)
}

// endAlert notes that an alert is over in a message, and in all earlier ones that report it.
func (m *messageBatch) endAlert(last *message, fingerprint string) {
	m.endAlertIn([]string{strconv.FormatInt(last.number, 10)}, last, fingerprint)
}

// endAlertIn notes that an alert is over in messages by their numbers, and in those before them. Where the last message
// can be edited, the name of the alert stays, so that the alert is found when it fires again.
func (m *messageBatch) endAlertIn(numbers []string, last *message, fingerprint string) {
	visited := map[string]bool{}
	for i := 0; i < len(numbers) && i < 2*maxEarlier; i++ {
		number, _ := strconv.ParseInt(numbers[i], 10, 64)
		reporting := m.posted.messages[number]
		if reporting == nil || visited[numbers[i]] {
			continue
		}
		visited[numbers[i]] = true
		if reporting.stateOf(fingerprint) == alertFiring {
			reporting.mark(fingerprint, m.now)
			m.editOrKeep(reporting)
		}
		numbers = append(numbers, reporting.Earlier...)
	}
	if !m.canEdit(last) {
		delete(m.posted.newest, "f:"+fingerprint)
	}
}

// endCounted counts an alert as over of which a message knows only the number.
func (m *messageBatch) endCounted(counting *message, fingerprint string) {
	if counting.Untracked == 0 {
		return
	}
	counting.Untracked--
	counting.UntrackedResolved++
	delete(m.posted.newest, "f:"+fingerprint)
	m.edit(counting, m.now)
}

func (m *messageBatch) editOrKeep(changed *message) {
	if m.canEdit(changed) {
		m.edit(changed, m.now)
	} else {
		m.keep(changed)
	}
}
