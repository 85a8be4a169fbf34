package events

import (
	"cmp"
	"strings"
)

// uptimeKuma is the webhook of Uptime Kuma, as JSON or as a form
// (https://github.com/louislam/uptime-kuma/blob/master/server/notification-providers/webhook.js).
var uptimeKuma = source{
	name:   "uptime_kuma",
	marks:  marks{fields: []string{"heartbeat"}},
	claims: func(in input) bool { return in.has("heartbeat", "monitor") },
	decode: one(decodeUptimeKuma),
}

func decodeUptimeKuma(in input) Event {
	beat, monitor := in.child("heartbeat"), in.child("monitor")
	name := monitor.text("name")
	event := Event{
		Category: cmp.Or(name, "uptime_kuma"),
		Title:    cmp.Or(in.text("msg"), in.text("title"), joined(": ", name, beat.text("msg")), "Uptime Kuma"),
		Text:     beat.text("msg"), Fingerprint: named("monitor", monitor.text("id")),
	}
	if strings.HasSuffix(event.Title, event.Text) {
		event.Text = ""
	}
	switch status := beat.text("status"); {
	case beat == nil: // the test of its settings
		event.Severity, event.Fingerprint = Info, ""
	case status == "0":
		event.alarm(Firing)
	case status == "1":
		event.alarm(Resolved)
	default: // 2 pending, 3 maintenance
		event.setLabel("status", map[string]string{"2": "pending", "3": "maintenance"}[status])
	}
	if at := beat.text("time"); at != "" { // a beat has no id, and is sent again by the second
		event.ID = joined(":", "monitor "+monitor.text("id"), beat.text("status"), at)
	}
	event.setLabel("monitor", name)
	event.setLabel("type", monitor.text("type"))
	for _, tag := range monitor.objects("tags") {
		event.setLabel(tag.text("name"), cmp.Or(tag.text("value"), "yes"))
	}
	event.addLink("Monitored", "url", strings.TrimSuffix(monitor.text("url"), "https://"))
	return event
}
