package events

import (
	"cmp"
)

// pagerdutyEvents is what tools send to PagerDuty (Events API v2, /v2/enqueue), for those whose URL can be changed
// (https://developer.pagerduty.com/docs/events-api-v2-overview). The routing key is not kept.
var pagerdutyEvents = source{
	name:   "pagerduty_events_v2",
	marks:  marks{fields: []string{"event_action"}},
	claims: func(in input) bool { return in.has("event_action", "payload") || in.has("event_action", "dedup_key") },
	decode: one(decodePagerdutyEvents),
}

func decodePagerdutyEvents(in input) Event {
	payload := in.child("payload")
	summary := payload.text("summary")
	event := Event{
		Category: cmp.Or(payload.text("class"), payload.text("component"), payload.text("group"), payload.text("source")),
		Title:    cmp.Or(summary, joined(" ", "PagerDuty event", in.text("event_action"))), Fingerprint: in.text("dedup_key"),
		StartedAt: timeOf(payload.text("timestamp")),
	}
	details := payload.child("custom_details")
	for _, m := range details.sorted() {
		if value := textOf(m.value); value != "" {
			event.Text = joined("\n", event.Text, m.name+": "+value)
		}
	}
	if event.Status = statusOf(in.text("event_action")); event.Status == NoStatus { // acknowledge
		event.setLabel("action", in.text("event_action"))
	}
	event.setSeverity(payload.text("severity"))
	event.addLabels(payload, "source", "component", "group")
	event.addLink(cmp.Or(in.text("client"), "Source"), "client_url", in.text("client_url"))
	for _, link := range in.objects("links") {
		event.addLink(cmp.Or(link.text("text"), "Link"), "link", link.text("href"))
	}
	return event
}
