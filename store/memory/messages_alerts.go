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

// stateIn returns the state of an alert in a message. A message is followed until all of its alerts are over. An event
// without a fingerprint is no alert.
func stateIn(message *store.PostedMessage, fingerprint string) alertState {
	if fingerprint == "" {
		return alertUnknown
	}
	for _, event := range message.Events {
		if event.Fingerprint == fingerprint {
			return stateSince(event.Resolved)
		}
	}
	if overAt, ok := message.Members[fingerprint]; ok {
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

// markAlert notes in a message when an alert was over; 0 = it fires again.
func markAlert(message *store.PostedMessage, fingerprint string, overAt int64) {
	for i := range message.Events {
		if message.Events[i].Fingerprint == fingerprint {
			message.Events[i].Resolved = overAt
		}
	}
	if _, ok := message.Members[fingerprint]; ok {
		message.Members[fingerprint] = overAt / 1_000_000
	}
}

// isAnyFiring reports whether any alert of a message is not over.
func isAnyFiring(message *store.PostedMessage) bool {
	for _, event := range message.Events {
		if event.Fingerprint != "" && event.Resolved == 0 {
			return true
		}
	}
	for _, overAt := range message.Members {
		if overAt == 0 {
			return true
		}
	}
	return false
}

// countAlerts is how many events a message reports.
func countAlerts(message *store.PostedMessage) int {
	return len(message.Events) + len(message.Members) + int(message.UntrackedResolved) + int(message.Untracked)
}

// isBundle reports whether a request is a bundle that waited for a slot.
func isBundle(r *store.Request) bool { return bytes.ContainsRune(r.Payload(), '\n') }

// isUnreachable reports whether a message is in Slack, and nobody knows where: it can be neither edited nor replied to.
func isUnreachable(message *store.PostedMessage) bool { return message.InSlack && message.TS == "" }

// canEdit reports whether a message can be edited. The text of what was posted while the store was away is not known.
func (m *messageBatch) canEdit(message *store.PostedMessage) bool {
	return m.policy.Resolves == store.ResolvesEdit && !isUnreachable(message) &&
		len(message.Events) > 0 && message.Events[0].Payload != ""
}

// follow lets a message stand for an alert. An earlier message that reports it as firing is listed in the new one.
func (m *messageBatch) follow(number int64, message *store.PostedMessage, fingerprint string) {
	last, earlier := m.posted.find("f:" + fingerprint)
	name := strconv.FormatInt(last, 10)
	isFiring := earlier != nil && last != number && stateIn(earlier, fingerprint) == alertFiring
	if isFiring && !slices.Contains(message.Earlier, name) {
		message.Earlier = append(message.Earlier, name)
		if len(message.Earlier) > maxEarlier {
			message.Earlier = slices.Delete(message.Earlier, 0, 1)
		}
	}
	m.posted.point("f:"+fingerprint, number)
}

// endAlert notes that an alert is over in a message, and in all earlier ones that report it.
func (m *messageBatch) endAlert(number int64, message *store.PostedMessage, fingerprint string) {
	m.endAlertIn([]string{strconv.FormatInt(number, 10)}, message, fingerprint)
}

// endEarlierAlerts notes that an alert is over in the messages before this one, whose place is taken.
func (m *messageBatch) endEarlierAlerts(message *store.PostedMessage, fingerprint string) {
	m.endAlertIn(slices.Clone(message.Earlier), message, fingerprint)
}

// endAlertIn notes that an alert is over in messages by their numbers, and in those before them. Where the last message
// can be edited, the name of the alert stays, so that the alert is found when it fires again.
func (m *messageBatch) endAlertIn(numbers []string, last *store.PostedMessage, fingerprint string) {
	visited := map[string]bool{}
	for i := 0; i < len(numbers) && i < 2*maxEarlier; i++ {
		number, _ := strconv.ParseInt(numbers[i], 10, 64)
		message := m.posted.message(number)
		if message == nil || visited[numbers[i]] {
			continue
		}
		visited[numbers[i]] = true
		if stateIn(message, fingerprint) == alertFiring {
			markAlert(message, fingerprint, m.now)
			m.editOrKeep(number, message)
		}
		numbers = append(numbers, message.Earlier...)
	}
	if !m.canEdit(last) {
		delete(m.posted.newest, "f:"+fingerprint)
	}
}

func (m *messageBatch) editOrKeep(number int64, message *store.PostedMessage) {
	if m.canEdit(message) {
		m.edit(number, message, m.now)
	} else {
		m.keep(number, message)
	}
}
