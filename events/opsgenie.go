package events

import (
	"cmp"
	"strings"
)

// opsgenie is the webhook of Opsgenie (https://support.atlassian.com/opsgenie/docs/opsgenie-edge-connector-alert-action-data/).
var opsgenie = source{
	name:   "opsgenie",
	claims: func(in input) bool { return in.has("action", "alert") && in.child("alert").has("alertId") },
	decode: one(decodeOpsgenie),
}

func decodeOpsgenie(in input) Event {
	alert, action := in.child("alert"), in.text("action")
	event := Event{
		ID: joined(":", alert.text("alertId"), action, alert.text("updatedAt")), Category: opsgenieCategory(in.object, alert),
		Title:       cmp.Or(alert.text("message"), "Opsgenie alert"),
		Text:        alert.text("description"),
		Fingerprint: cmp.Or(alert.text("alias"), alert.text("alertId")),
		StartedAt:   timeOf(alert.text("createdAt")),
	}
	priority := alert.text("priority")
	if len(priority) == 1 { // old bodies have a number
		priority = "P" + priority
	}
	event.setSeverity(priority)
	switch action {
	case "Create", "UnAcknowledge", "Escalate":
		event.Status = Firing
	case "Close", "Delete":
		event.Status = Resolved
	default: // Acknowledge, AddNote, ...: it is still what it was
		event.Title = joined(": ", action, event.Title)
	}
	event.setLabel("action", action)
	event.setLabel("entity", alert.text("entity"))
	event.setLabel("tags", strings.Join(alert.texts("tags"), ", "))
	event.setLabel("by", alert.text("username"))
	event.addLabels(alert.child("details"))
	return event
}

// opsgenieCategory is what an alert is about, without what differs from one alert to the next: messages are free text.
func opsgenieCategory(o, alert object) string {
	alias := fold(alert.text("alias"))
	if alias == "n" { // an id
		alias = ""
	}
	return cmp.Or(alert.text("entity"), alias, o.text("source", "name"), fold(alert.text("message")))
}
