package events

import (
	"cmp"
	"strings"
)

// datadog is the webhook of Datadog. Its body is what the user made of Datadog's variables; known are the names of the
// variables themselves in any case, and those of the common templates
// (https://docs.datadoghq.com/integrations/webhooks/).
var datadog = source{
	name:  "datadog",
	marks: marks{fields: []string{"alert_transition", "ALERT_TRANSITION", "event_type"}},
	claims: func(in input) bool {
		return in.has("alert_transition") || in.has("ALERT_TRANSITION") || in.has("event_type", "org", "last_updated")
	},
	decode: one(decodeDatadog),
}

// datadogStatuses are the words of $ALERT_TRANSITION.
var datadogStatuses = map[string]Status{
	"triggered": Firing, "re-triggered": Firing, "warn": Firing, "re-warn": Firing, "no data": Firing, "re-no data": Firing,
	"renotify":  Firing,
	"recovered": Resolved, "warn recovered": Resolved, "no data recovered": Resolved,
}

func decodeDatadog(in input) Event {
	o := filledIn(in.object)
	transition, monitor := o.text("alert_transition"), o.first("monitor_id", "alert_id")
	scopes := o.first("scopes", "alert_scope", "hostname")
	event := Event{
		Title:     cmp.Or(o.first("title", "event_title", "alert_title"), "Datadog alert"),
		Text:      datadogText(o.first("body", "event_msg", "text_only_msg", "alert_query")),
		StartedAt: timeOf(o.first("alert_cycle_started", "date_started")),
	}
	event.Category = cmp.Or(o.text("category"), o.first("alert_title", "monitor_name"), monitorName(event.Title), o.text("event_type"))
	event.Fingerprint = o.first("alert_cycle_key", "aggreg_key")
	if monitor != "" {
		event.Fingerprint = cmp.Or(event.Fingerprint, joined(" ", "monitor", monitor, scopes))
	}
	event.setSeverity(cmp.Or(o.first("severity", "alert_priority", "priority"), o.text("alert_type")))
	event.Status = datadogStatuses[strings.ToLower(transition)]
	if id := o.text("id"); id != "" {
		event.ID = joined(":", id, transition)
	}
	event.setLabel("transition", transition)
	event.setLabel("scope", scopes)
	for tag := range strings.SplitSeq(o.text("tags"), ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(tag), ":"); ok {
			event.setLabel(name, value)
		}
	}
	event.addLink("Datadog", "url", o.first("url", "link"))
	event.addLink("Graph", "snapshot", o.text("snapshot"))
	return event
}

// filledIn are the fields of a template, by their names in lower case, without the variables that nothing was put in for.
func filledIn(o object) object {
	filled := make(object, 0, len(o))
	for _, m := range o {
		if !isPlaceholder(textOf(m.value)) {
			filled = append(filled, member{strings.ToLower(m.name), m.value})
		}
	}
	return filled
}

// monitorName is a title without what Datadog puts before it: [P2] [Recovered on {host:a}] CPU load is high.
func monitorName(title string) string {
	for strings.HasPrefix(title, "[") {
		_, rest, ok := strings.Cut(title, "] ")
		if !ok {
			break
		}
		title = rest
	}
	return title
}

// datadogText removes the fences of Datadog's Markdown.
func datadogText(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "%%%", ""))
}
