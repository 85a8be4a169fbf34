package events

import (
	"cmp"
	"strings"
)

// healthchecks is the webhook of Healthchecks.io with a body that the user wrote: this relay's own proposal,
// {"name": "$NAME", "status": "$STATUS", "code": "$CODE", "tags": "$TAGS", "now": "$NOW", "body": "$BODY"}, or what it
// sends to tools of PagerDuty's kind (https://healthchecks.io/docs/configuring_notifications/).
var healthchecks = source{
	name:  "healthchecks",
	rank:  byCommonFields, // PagerDuty's events have a client too
	marks: marks{fields: []string{"client", "now"}},
	claims: func(in input) bool {
		return strings.HasPrefix(in.text("client"), "healthchecks") || in.has("name", "status", "code", "now")
	},
	decode: one(decodeHealthchecks),
}

func decodeHealthchecks(in input) Event {
	o := filledIn(in.object)
	name, status := o.text("name"), cmp.Or(o.text("status"), o.text("event_type"))
	event := Event{
		Category:    cmp.Or(name, monitoredName(o.text("title")), "healthchecks"),
		Title:       cmp.Or(o.text("title"), joined(" is ", name, strings.ToUpper(status)), "Healthchecks alert"),
		Text:        cmp.Or(o.text("description"), o.text("body")),
		Fingerprint: cmp.Or(o.text("incident_key"), o.text("code")),
	}
	event.setStatus(status)
	event.alarm(event.Status)
	if now := o.text("now"); now != "" {
		event.ID = joined(":", event.Fingerprint, status, now)
	}
	event.setLabel("tags", o.text("tags"))
	event.addLink("Healthchecks", "client_url", o.text("client_url"))
	return event
}

// monitoredName is what a title like "my check is DOWN" is about.
func monitoredName(title string) string {
	name, _, _ := strings.Cut(title, " is ")
	return name
}
