package events

import (
	"cmp"
	"strings"
)

// statuspage is the webhook of a page of Atlassian Statuspage
// (https://support.atlassian.com/statuspage/docs/enable-webhook-notifications/).
var statuspage = source{
	name: "statuspage",
	claims: func(in input) bool {
		indicator := in.text("page", "status_indicator")
		return in.has("page") && (in.has("incident") || in.has("component_update")) && indicator == strings.ToLower(indicator) // else Instatus'
	},
	decode: one(func(in input) Event {
		if in.has("incident") {
			return statuspageIncident(in.child("incident"))
		}
		return statuspageComponent(in.object)
	}),
}

func statuspageIncident(incident object) Event {
	status, updates := incident.text("status"), incident.objects("incident_updates")
	event := Event{
		ID: joined(":", incident.text("id"), status, incident.text("updated_at")), Category: incident.text("name"),
		Title:       joined(": ", incident.text("name"), status),
		Fingerprint: named("incident", incident.text("id")),
		StartedAt:   timeOf(incident.text("created_at")),
	}
	if len(updates) > 0 { // the newest stands first
		event.Text = updates[0].text("body")
	}
	event.setSeverity(cmp.Or(incident.text("impact"), "minor"))
	switch status {
	case "resolved", "completed", "postmortem":
		event.Status = Resolved
	default: // investigating, identified, monitoring
		event.Status = Firing
	}
	var affected []string
	for _, component := range incident.objects("components") {
		affected = append(affected, component.text("name"))
	}
	event.setLabel("components", strings.Join(affected, ", "))
	event.addLink("Status page", "shortlink", incident.text("shortlink"))
	return event
}

// componentSeverities are the states of a component.
var componentSeverities = map[string]Severity{
	"operational": Info, "under_maintenance": Info, "degraded_performance": Warning, "partial_outage": Error, "major_outage": Critical,
}

func statuspageComponent(o object) Event {
	component, update := o.child("component"), o.child("component_update")
	state := cmp.Or(update.text("new_status"), component.text("status"))
	event := Event{
		ID:       update.text("id"),
		Category: component.text("name"),
		Title:    component.text("name") + " is " + spaced(cmp.Or(state, "changed")),
		Text:     joined("\n", named("before:", spaced(update.text("old_status"))), component.text("description")),
		Severity: componentSeverities[state], Fingerprint: named("component", component.text("id")), StartedAt: timeOf(update.text("created_at")),
	}
	switch {
	case state == "operational":
		event.Status = Resolved
	case event.Severity != Info:
		event.Status = Firing
	}
	event.setLabel("page", o.text("page", "status_description"))
	return event
}
