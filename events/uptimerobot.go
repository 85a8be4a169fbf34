package events

import (
	"cmp"
	"strings"
)

// uptimeRobot is the webhook of UptimeRobot: JSON that the user wrote, or the same variables as a form
// (https://uptimerobot.com/integrations/webhooks-integration/).
var uptimeRobot = source{
	name: "uptimerobot",
	claims: func(in input) bool {
		return in.has("monitorFriendlyName") || in.has("monitor_friendly_name") || in.has("monitorID", "alertType")
	},
	decode: one(decodeUptimeRobot),
}

func decodeUptimeRobot(in input) Event {
	o := object{}
	for _, m := range filledIn(in.object) {
		o = append(o, member{lettersOf(m.name), m.value})
	}
	name, kind := o.first("monitorfriendlyname", "monitorurl"), o.text("alerttypefriendlyname")
	event := Event{
		Category: cmp.Or(name, "uptimerobot"), Title: cmp.Or(joined(" is ", name, strings.ToLower(kind)), "UptimeRobot alert"),
		Text:        o.text("alertdetails"),
		Fingerprint: named("monitor", o.first("monitorid", "monitorfriendlyname")),
		StartedAt:   timeOf(o.text("alertdatetime")),
	}
	event.alarm(cmp.Or(map[string]Status{"1": Firing, "2": Resolved}[o.text("alerttype")], statusOf(kind)))
	if event.Status == NoStatus { // 3: a certificate ends soon
		event.setLabel("alert_type", kind)
	}
	if id := o.text("alertid"); id != "" {
		event.ID = joined(":", id, o.text("alerttype"))
	}
	event.setLabel("duration", o.text("alertfriendlyduration"))
	event.addLink("Monitored", "monitor_url", o.text("monitorurl"))
	return event
}
