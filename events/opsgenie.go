package events

import (
	"cmp"
	"strings"
)

// opsgenie is the webhook of Opsgenie (https://support.atlassian.com/opsgenie/docs/opsgenie-edge-connector-alert-action-data/), or
// the alert that a tool creates with its Alert API (https://docs.opsgenie.com/docs/alert-api#create-alert).
var opsgenie = source{
	name:  "opsgenie",
	marks: marks{fields: []string{"alert", "alias", "responders", "visibleTo"}},
	claims: func(in input) bool {
		return in.has("action", "alert") && in.child("alert").has("alertId") || isOpsgenieRequest(in.object)
	},
	decode: one(decodeOpsgenie),
}

// isOpsgenieRequest reports whether an object has the message of a new alert and two of the fields that few others have.
func isOpsgenieRequest(o object) bool {
	if !o.has("message") || o.has("alert") {
		return false
	}
	own := 0
	for _, name := range []string{"alias", "responders", "visibleTo", "entity", "details", "priority", "actions", "note"} {
		if o.has(name) {
			own++
		}
	}
	return own >= 2 && (o.has("alias") || o.has("responders") || o.has("visibleTo"))
}

func decodeOpsgenie(in input) Event {
	alert, action := in.child("alert"), in.text("action")
	if alert == nil {
		alert, action = in.object, "Create"
	}
	event := Event{
		Category:    opsgenieCategory(in.object, alert),
		Title:       cmp.Or(alert.text("message"), named("Opsgenie alert", alert.text("alias")), "Opsgenie alert"),
		Text:        joined("\n", alert.text("description"), alert.text("note")),
		Fingerprint: cmp.Or(alert.text("alias"), alert.text("alertId")),
		StartedAt:   timeOf(alert.text("createdAt")),
	}
	if id := alert.text("alertId"); id != "" {
		event.ID = joined(":", id, action, alert.text("updatedAt"))
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
	event.setLabel("by", cmp.Or(alert.text("username"), alert.text("user")))
	event.setLabel("responders", strings.Join(opsgenieNames(alert.objects("responders")), ", "))
	event.setLabel("source", alert.text("source"))
	event.addLabels(alert.child("details"))
	return event
}

// opsgenieNames returns the names of teams and users.
func opsgenieNames(all []object) []string {
	var names []string
	for _, one := range all {
		if name := one.first("name", "username", "id"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// opsgenieCategory is what an alert is about, without what differs from one alert to the next: messages are free text.
func opsgenieCategory(o, alert object) string {
	alias := fold(alert.text("alias"))
	if alias == "n" { // an id
		alias = ""
	}
	return cmp.Or(alert.text("entity"), alias, o.text("source", "name"), fold(alert.text("message")))
}
