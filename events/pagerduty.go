package events

import (
	"cmp"
	"strings"
)

// pagerduty is the webhook of PagerDuty, version 3, and the older ones with a list of messages
// (https://developer.pagerduty.com/docs/webhooks-overview).
var pagerduty = source{
	name:  "pagerduty",
	marks: marks{fields: []string{"event", "messages"}},
	claims: func(in input) bool {
		return in.child("event").has("event_type") || isOldPagerduty(in.objects("messages"))
	},
	decode: func(in input) ([]Event, error) {
		if in.has("event") {
			return []Event{pagerdutyEvent(in.child("event"))}, nil
		}
		var all []Event
		for _, message := range in.objects("messages") {
			all = append(all, oldPagerduty(message))
		}
		return all, nil
	},
}

func isOldPagerduty(messages []object) bool {
	return len(messages) > 0 && (messages[0].has("incident", "event") || messages[0].child("data").has("incident"))
}

func pagerdutyEvent(e object) Event {
	kind, data := e.text("event_type"), e.child("data")
	event := Event{
		ID: e.text("id"), Category: cmp.Or(data.text("service", "summary"), kind), Severity: Info, StartedAt: timeOf(e.text("occurred_at")),
		Title: joined(": ", strings.ReplaceAll(kind, ".", " "),
			cmp.Or(data.text("title"), data.text("summary"), data.text("incident", "summary"))),
	}
	event.incident(data, kind)
	event.setLabel("by", e.text("agent", "summary"))
	event.Text = joined("\n", named("by", e.text("agent", "summary")), data.text("content"), data.text("message"))
	if kind == "pagey.ping" {
		event.Category, event.Title, event.Text = "pagey.ping", "PagerDuty webhook connected", data.text("message")
	}
	return event
}

// incident sets the fields of an incident; the kind of message decides the status.
func (e *Event) incident(data object, kind string) {
	switch kind[strings.LastIndexByte(kind, '.')+1:] {
	case "triggered", "trigger", "reopened", "unacknowledged", "unacknowledge", "escalated", "escalate":
		e.Status = Firing
	case "resolved", "resolve":
		e.Status = Resolved
	}
	if data.text("urgency") != "" {
		e.Severity = ""
		e.setSeverity(cmp.Or(data.text("priority", "summary"), data.text("urgency")))
	}
	if e.Status != NoStatus {
		e.Fingerprint = named("incident", data.text("id"))
	}
	e.setLabel("service", cmp.Or(data.text("service", "summary"), data.text("service", "name")))
	e.setLabel("escalation_policy", data.text("escalation_policy", "summary"))
	e.setLabel("event", kind)
	e.addLink("PagerDuty", "html_url", data.text("html_url"))
}

func oldPagerduty(message object) Event {
	kind, incident := cmp.Or(message.text("event"), message.text("type")), message.child("incident")
	if incident == nil {
		incident = message.child("data", "incident")
	}
	what := cmp.Or(incident.text("title"), incident.text("trigger_summary_data", "subject"),
		incident.text("trigger_summary_data", "description"), incident.text("incident_key"))
	event := Event{
		ID: message.text("id"), Category: cmp.Or(incident.text("service", "summary"), incident.text("service", "name"), kind), Severity: Info,
		Title: joined(": ", strings.ReplaceAll(kind, ".", " "), what), StartedAt: timeOf(message.text("created_on")),
	}
	event.incident(incident, kind)
	return event
}
