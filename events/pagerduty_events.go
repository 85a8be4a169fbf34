package events

import (
	"cmp"
	"strings"
)

// pagerdutyEvents is what tools send to PagerDuty (Events API v2, /v2/enqueue, or the older v1), for those whose URL can be
// changed (https://developer.pagerduty.com/docs/events-api-v2-overview). The routing key is not kept.
var pagerdutyEvents = source{
	name: "pagerduty_events_v2",
	claims: func(in input) bool {
		return in.has("event_action", "payload") || in.has("event_action", "dedup_key") || isPagerdutyV1(in)
	},
	decode: one(decodePagerdutyEvents),
}

// isPagerdutyV1 reports whether a body has the shape of the Events API v1. Healthchecks has it too, and a source of its own.
func isPagerdutyV1(in input) bool {
	switch in.text("event_type") {
	case "trigger", "acknowledge", "resolve":
		return (in.has("incident_key") || in.has("service_key")) && !strings.HasPrefix(in.text("client"), "healthchecks")
	default:
		return false
	}
}

func decodePagerdutyEvents(in input) Event {
	payload, details := in.child("payload"), in.child("payload", "custom_details")
	if details == nil { // v1
		details = in.child("details")
	}
	action, summary := in.first("event_action", "event_type"), cmp.Or(payload.text("summary"), in.text("description"))
	event := Event{
		Category: cmp.Or(payload.text("class"), payload.text("component"), payload.text("group"), alertnameIn(details), payload.text("source"),
			in.text("client")),
		Title: cmp.Or(summary, joined(" ", "PagerDuty event", action)), Fingerprint: in.first("dedup_key", "incident_key"),
		StartedAt: timeOf(payload.text("timestamp")),
	}
	for _, m := range details.sorted() {
		if value := textOf(m.value); value != "" {
			event.Text = joined("\n", event.Text, m.name+": "+value)
		}
	}
	event.Status = statusOf(action)
	if severity := cmp.Or(payload.text("severity"), details.text("severity")); severity != "" || in.has("event_action") {
		event.setSeverity(severity)
	} else {
		event.alarm(event.Status)
	}
	if event.Status == NoStatus { // acknowledge
		event.setLabel("action", action)
	}
	event.addLabels(payload, "source", "component", "group")
	event.addLink(cmp.Or(in.text("client"), "Source"), "client_url", in.text("client_url"))
	for _, link := range in.objects("links") {
		event.addLink(cmp.Or(link.text("text"), "Link"), "link", link.text("href"))
	}
	return event
}

// alertnameIn is the name of the first alert in the details of Alertmanager, which lists labels as " - alertname = X".
func alertnameIn(details object) string {
	_, rest, _ := strings.Cut(cmp.Or(details.text("firing"), details.text("resolved")), "- alertname = ")
	return firstLine(rest)
}
