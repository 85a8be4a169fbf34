package events

import (
	"cmp"
	"strings"
)

// pagerdutyEvents is what tools send to PagerDuty, for those whose URL can be changed: events and change events of the Events API
// v2 (https://developer.pagerduty.com/docs/events-api-v2-overview), and events of its version 1. The routing key is not kept.
var pagerdutyEvents = source{
	name:  "pagerduty_events_v2",
	marks: marks{fields: []string{"event_action", "routing_key", "service_key", "incident_key"}},
	claims: func(in input) bool {
		return in.has("event_action", "payload") || in.has("event_action", "dedup_key") || in.has("routing_key", "payload") ||
			isPagerdutyV1(in.object) && !strings.HasPrefix(in.text("client"), "healthchecks") // it has a decoder of its own
	},
	decode: one(func(in input) Event {
		if isPagerdutyV1(in.object) {
			return decodePagerdutyV1(in)
		}
		return decodePagerdutyEvents(in)
	}),
}

func isPagerdutyV1(o object) bool {
	switch o.text("event_type") {
	case "trigger", "acknowledge", "resolve":
		return o.has("service_key") || o.has("incident_key")
	default:
		return false
	}
}

func decodePagerdutyEvents(in input) Event {
	payload := in.child("payload")
	event := Event{
		Category: cmp.Or(payload.text("class"), payload.text("component"), payload.text("group"),
			alertnameIn(payload.child("custom_details")), payload.text("source"), in.text("client")),
		Title:     cmp.Or(payload.text("summary"), joined(" ", "PagerDuty event", in.text("event_action"))),
		StartedAt: timeOf(payload.text("timestamp")),
	}
	event.pagerdutyAction(in.text("event_action"), in.text("dedup_key"))
	event.pagerdutyDetails(in, payload.child("custom_details"))
	event.setSeverity(payload.text("severity"))
	if !in.has("event_action") { // a change: nothing is wrong
		event.Severity = Info
	}
	event.addLabels(payload, "source", "component", "group")
	for _, link := range in.objects("links") {
		event.addLink(cmp.Or(link.text("text"), "Link"), "link", link.text("href"))
	}
	return event
}

func decodePagerdutyV1(in input) Event {
	description, kind := in.text("description"), in.text("event_type")
	event := Event{
		Category: cmp.Or(alertnameIn(in.child("details")), in.text("client")),
		Title:    cmp.Or(firstLine(description), joined(" ", "PagerDuty event", kind, in.text("incident_key"))),
	}
	if description != event.Title {
		event.Text = description
	}
	event.pagerdutyAction(kind, in.text("incident_key"))
	event.pagerdutyDetails(in, in.child("details"))
	event.alarm(event.Status)
	if severity := in.text("details", "severity"); severity != "" {
		event.setSeverity(severity)
	}
	for _, context := range in.objects("contexts") {
		event.addLink(cmp.Or(context.text("text"), "Link"), "link", context.text("href"))
	}
	return event
}

// pagerdutyAction sets what a trigger, an acknowledgement or a resolve means for the incident with this key.
func (e *Event) pagerdutyAction(action, key string) {
	e.Fingerprint = key
	if e.Status = statusOf(action); e.Status == NoStatus { // acknowledge
		e.setLabel("action", action)
	}
}

// pagerdutyDetails adds the details to the text, and the client.
func (e *Event) pagerdutyDetails(in input, details object) {
	for _, m := range details.sorted() {
		if value := textOf(m.value); value != "" {
			e.Text = joined("\n", e.Text, m.name+": "+value)
		}
	}
	e.addLink(cmp.Or(in.text("client"), "Source"), "client_url", in.text("client_url"))
}

// alertnameIn is the name of the first alert in the details of Alertmanager, which lists labels as " - alertname = X".
func alertnameIn(details object) string {
	_, rest, _ := strings.Cut(cmp.Or(details.text("firing"), details.text("resolved")), "- alertname = ")
	return firstLine(rest)
}
