package events

import (
	"cmp"
	"strings"
)

// zabbix is the webhook of a media type of Zabbix. Its body is made by a script; known are the parameters of the common
// ones, flat or nested (https://www.zabbix.com/documentation/current/en/manual/config/notifications/media/webhook).
var zabbix = source{
	name: "zabbix",
	claims: func(in input) bool {
		return in.has("event_id", "event_value") || in.has("trigger_id", "event_nseverity") || in.has("event", "trigger", "host") ||
			in.text("trigger") != "" && in.text("item") != "" && in.has("status")
	},
	decode: one(decodeZabbix),
}

func decodeZabbix(in input) Event {
	o := filledIn(in.object)
	inner := func(name, field string) string { // {"event": {"name": ...}} or {"event_name": ...}
		text := o.text(name, field)
		if isPlaceholder(text) {
			text = ""
		}
		return cmp.Or(text, o.text(name+"_"+field))
	}
	trigger := o.text("trigger") // the macros by their own names
	name := cmp.Or(inner("trigger", "name"), inner("event", "name"), trigger, problemName(o.first("title", "subject", "alert_subject")))
	event := Event{
		Category: name, Title: cmp.Or(o.first("title", "subject", "alert_subject"), name, "Zabbix problem"),
		Text:        strings.ReplaceAll(o.first("message", "description", "alert_message"), "\r\n", "\n"),
		Fingerprint: named("event", inner("event", "id")),
	}
	if trigger != "" {
		event.Category = fold(trigger)
		event.Fingerprint = cmp.Or(event.Fingerprint, joined(" ", "trigger", trigger, o.first("hostname", "host")))
	}
	event.setSeverity(cmp.Or(inner("event", "severity"), inner("trigger", "severity"), zabbixSeverity(o.text("event_nseverity")),
		o.text("severity")))
	if recovery := inner("event", "update_status"); recovery == "1" {
		event.setLabel("update", "yes")
	}
	event.setStatus(cmp.Or(zabbixStatus(o.text("event_value")), inner("event", "status"), inner("trigger", "status"), o.text("status")))
	event.setLabel("host", cmp.Or(inner("host", "name"), o.text("hostname")))
	event.setLabel("item", cmp.Or(inner("item", "key"), o.text("item")))
	event.setLabel("value", inner("item", "value"))
	event.setLabel("tags", o.text("event_tags"))
	link := o.text("link")
	if base := o.text("zabbix_url"); link == "" && base != "" && inner("event", "id") != "" {
		link = strings.TrimSuffix(base, "/") + "/tr_events.php?triggerid=" + inner("trigger", "id") + "&eventid=" + inner("event", "id")
	}
	event.addLink("Zabbix", "link", link)
	return event
}

func zabbixStatus(value string) string {
	return map[string]string{"0": "resolved", "1": "problem"}[value]
}

// zabbixSeverity is the word for Zabbix's number.
func zabbixSeverity(number string) string {
	return map[string]string{"0": "info", "1": "info", "2": "warning", "3": "average", "4": "high", "5": "disaster"}[number]
}

// problemName is a subject without "Problem: " or "Resolved in 5m: ".
func problemName(subject string) string {
	if before, name, ok := strings.Cut(subject, ": "); ok &&
		(strings.HasPrefix(before, "Problem") || strings.HasPrefix(before, "Resolved") || strings.HasPrefix(before, "Updated")) {
		return name
	}
	return subject
}
