package events

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// datadog is the webhook of Datadog. Its body is what the user made of Datadog's variables; known are the names of the
// variables themselves in any case, and those of the common templates
// (https://docs.datadoghq.com/integrations/webhooks/).
var datadog = source{
	name:  "datadog",
	marks: marks{fields: []string{"alert_transition", "ALERT_TRANSITION", "event_type"}},
	claims: func(in input) bool {
		return in.has("alert_transition") || in.has("ALERT_TRANSITION") || in.has("event_type", "org", "last_updated") ||
			in.has("transition") && (in.has("alert_id") || in.has("monitor_id"))
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
	title := cmp.Or(o.first("title", "event_title", "alert_title"), "Datadog alert")
	marks := datadogMarks(title)
	transition, monitor := cmp.Or(o.first("alert_transition", "transition"), marks.transition), o.first("monitor_id", "alert_id")
	scopes := cmp.Or(o.first("scopes", "alert_scope", "scope", "hostname"), marks.scope)
	event := Event{
		Title:     cmp.Or(marks.title(), title),
		Text:      datadogText(o.first("body", "event_msg", "text_only_msg", "alert_query")),
		StartedAt: timeOf(o.first("alert_cycle_started", "date_started")),
		Status:    datadogStatuses[strings.ToLower(transition)],
	}
	name := withoutScope(cmp.Or(o.first("alert_title", "monitor_name"), marks.name), scopes)
	event.Category = cmp.Or(o.text("category"), name, o.text("event_type"))
	event.Fingerprint = o.first("alert_cycle_key", "aggreg_key")
	if monitor == "" && marks.transition != "" {
		monitor = marks.name
	}
	if monitor != "" {
		event.Fingerprint = cmp.Or(event.Fingerprint, joined(" ", "monitor", monitor, scopes))
	}
	severity := cmp.Or(o.first("severity", "alert_priority", "priority"), marks.priority, o.text("alert_type"))
	if event.setSeverity(severity); severity == "" && event.Status == Resolved {
		event.Severity = Info
	}
	if id := o.text("id"); id != "" {
		event.ID = joined(":", id, transition)
	}
	event.setLabel("transition", transition)
	event.setLabel("scope", scopes)
	for tag := range strings.SplitSeq(cmp.Or(o.text("tags"), strings.Join(o.texts("tags"), ",")), ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(tag), ":"); ok {
			event.setLabel(name, value)
		}
	}
	event.addLink("Datadog", "url", o.first("url", "link"))
	event.addImage("Graph", "snapshot", o.text("snapshot"))
	event.Text = withoutNotified(event.markdown(event.Text))
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

// datadogTitle is what Datadog writes before the name of a monitor: [P2] [Recovered on {host:a}] CPU load is high.
type datadogTitle struct{ priority, transition, scope, name string }

func datadogMarks(title string) datadogTitle {
	t := datadogTitle{name: title}
	for strings.HasPrefix(t.name, "[") {
		mark, rest, ok := strings.Cut(t.name[1:], "] ")
		if !ok {
			break
		}
		t.name = rest
		state, scope, _ := strings.Cut(mark, " on {")
		if _, known := datadogStatuses[strings.ToLower(state)]; known {
			t.transition, t.scope = state, strings.TrimSuffix(scope, "}")
		} else {
			t.priority = mark
		}
	}
	return t
}

// title is the name of the monitor, and where it happened if the name does not tell. Severity and status have fields of their own.
func (t datadogTitle) title() string {
	name := t.name
	if strings.HasSuffix(strings.ToLower(t.transition), "no data") {
		name = "No data: " + name
	}
	for scope := range strings.SplitSeq(t.scope, ",") {
		if _, value, _ := strings.Cut(scope, ":"); value == "" || strings.Contains(name, value) {
			return name
		}
	}
	return name + " (" + t.scope + ")"
}

// withoutScope is the name of a monitor without the values of its scope, "host:a,env:prod", which differ from alert to alert.
func withoutScope(name, scopes string) string {
	for scope := range strings.SplitSeq(scopes, ",") {
		if _, value, ok := strings.Cut(strings.TrimSpace(scope), ":"); ok && value != "" && value != name {
			name = strings.ReplaceAll(name, value, "")
		}
	}
	words := strings.Fields(name)
	for len(words) > 1 && slices.Contains([]string{"on", "of", "in", "at", "for"}, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// notified matches the handles of whom Datadog notified itself, and its own links below a text.
var notified = regexp.MustCompile(`[ \t]*(?i:notify:[ \t]*)?@(?:webhook|slack|pagerduty|opsgenie|teams?|workflow|victorops|oncall|sns|hangouts)[\w.-]*|` +
	`(?m)^.*\[?Monitor Status\]?.*Edit Monitor.*$`)

// withoutNotified removes what Datadog adds to a text for itself.
func withoutNotified(text string) string {
	return strings.TrimSpace(emptyLines.ReplaceAllString(notified.ReplaceAllString(text, ""), "\n\n"))
}

// datadogText removes the fences of Datadog's Markdown.
func datadogText(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "%%%", ""))
}
