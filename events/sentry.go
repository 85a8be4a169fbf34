package events

import (
	"cmp"
	"net/url"
	"strings"
)

// sentry is the webhook of a Sentry integration (issues, errors, issue alerts, metric alerts), and that of its legacy
// plugin (https://docs.sentry.io/organization/integrations/integration-platform/webhooks/).
var sentry = source{
	name:  "sentry",
	rank:  byHeader,
	marks: marks{fields: []string{"installation", "culprit"}, headers: []string{sentryResource}},
	claims: func(in input) bool {
		return in.header.Get(sentryResource) != "" || in.has("action", "data", "installation") || isSentryPlugin(in)
	},
	decode:  one(decodeSentry),
	headers: []string{sentryResource},
}

// sentryResource is the header with the kind of a webhook.
const sentryResource = "Sentry-Hook-Resource"

func isSentryPlugin(in input) bool {
	return in.has("culprit", "event") && (in.has("project_slug") || in.has("project", "project_name"))
}

func decodeSentry(in input) Event {
	var event Event
	action := in.text("action")
	switch data := in.child("data"); {
	case isSentryPlugin(in):
		event = sentryPlugin(in.object)
	case data.at("metric_alert") != nil:
		event = sentryMetric(data, action)
	case data.at("issue") != nil:
		event = sentryIssue(data.child("issue"), action)
	case data.at("event") != nil:
		event = sentryError(data.child("event"), cmp.Or(data.text("triggered_rule"), data.text("issue_alert", "title")))
	case data.at("error") != nil:
		event = sentryError(data.child("error"), "")
	default: // installation, comment, seer: something happened in Sentry, and nothing is wrong
		resource := cmp.Or(in.header.Get(sentryResource), "webhook")
		event = Event{Category: resource, Title: "Sentry: " + joined(" ", resource, action), Severity: Info, Text: data.text("comment")}
	}
	if actor := in.text("actor", "name"); actor != "" && actor != "Sentry" {
		event.setLabel("actor", actor)
	}
	return event
}

// sentryError is an error, or an issue alert that one set off.
func sentryError(e object, rule string) Event {
	project := sentryProject(e.text("url"))
	event := Event{
		ID: joined(":", e.text("event_id"), rule), Category: cmp.Or(rule, project, "sentry"), Title: sentryTitle(e), Text: sentryText(e),
		Fingerprint: named("issue", cmp.Or(e.text("issue_id"), lastSegment(e.text("issue_url")))),
		Status:      Firing, StartedAt: timeOf(e.text("datetime")),
	}
	event.setSeverity(e.text("level"))
	event.setLabel("project", project)
	event.addLabels(e, "environment", "release")
	event.addLink("Sentry", "web_url", e.text("web_url"))
	return event
}

// sentryIssue is a change of an issue.
func sentryIssue(issue object, action string) Event {
	project := issue.text("project", "slug")
	event := Event{
		ID:       joined(":", issue.text("id"), action, issue.text("lastSeen"), issue.text("count")),
		Category: cmp.Or(project, "sentry"), Title: sentryTitle(issue), Text: sentryText(issue),
		Fingerprint: named("issue", issue.text("id")), StartedAt: timeOf(issue.text("firstSeen")),
	}
	event.setSeverity(issue.text("level"))
	switch action {
	case "created", "unresolved":
		event.Status = Firing
	case "resolved":
		event.Status = Resolved
	default: // assigned, archived: it is still what it was
		event.Note = "Sentry: " + action
	}
	event.setLabel("project", project)
	event.setLabel("issue", issue.text("shortId"))
	event.addLink("Sentry", "permalink", cmp.Or(issue.text("permalink"), issue.text("web_url"), sentryPage(issue.text("url"))))
	return event
}

// sentryMetric decodes a metric alert, whose action is the severity.
func sentryMetric(data object, action string) Event {
	alert := data.child("metric_alert")
	rule := alert.text("alert_rule", "name")
	event := Event{
		ID: joined(":", alert.text("id"), action,
			cmp.Or(alert.text("date_closed"), alert.text("date_started"), alert.text("date_detected"))),
		Category: cmp.Or(rule, "sentry"), Title: cmp.Or(data.text("description_title"), alert.text("title"), rule, "Sentry metric alert"),
		Text:        data.text("description_text"),
		Fingerprint: named("metric alert", cmp.Or(alert.text("identifier"), alert.text("id"))), Status: Firing,
		StartedAt: timeOf(cmp.Or(alert.text("date_started"), alert.text("date_detected"))),
	}
	if action == "resolved" {
		event.alarm(Resolved)
		event.endAt(alert.text("date_closed"))
	} else {
		event.setSeverity(action)
	}
	event.addLink("Sentry", "web_url", data.text("web_url"))
	return event
}

// sentryPlugin is the body of the legacy plugin.
func sentryPlugin(o object) Event {
	e := o.child("event")
	project := cmp.Or(o.text("project_slug"), o.text("project"))
	event := Event{
		ID:          e.text("event_id"),
		Category:    cmp.Or(project, "sentry"),
		Title:       cmp.Or(sentryTitle(e), o.text("message"), o.text("culprit"), "Sentry error"),
		Text:        joined("\n", o.text("message"), o.text("culprit")),
		Fingerprint: named("issue", o.text("id")),
		Status:      Firing,
	}
	event.setSeverity(o.text("level"))
	event.setLabel("project", project)
	event.addLabels(e, "environment", "release")
	event.setLabel("rule", strings.Join(o.texts("triggering_rules"), ", "))
	event.addLink("Sentry", "url", o.text("url"))
	return event
}

func sentryTitle(o object) string {
	kind, value := o.text("metadata", "type"), strings.TrimSpace(o.text("metadata", "value"))
	return cmp.Or(o.text("title"), joined(": ", kind, value), o.text("message"), o.text("culprit"))
}

func sentryText(o object) string {
	return joined("\n", strings.TrimSpace(o.text("message")), named("in", o.text("culprit")))
}

// sentryProject reads the project from an address of Sentry's API, .../projects/<organisation>/<project>/...
func sentryProject(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(u.Path, "/projects/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// lastSegment is the last part of an address' path: .../issues/<id>/.
func lastSegment(address string) string {
	address = strings.TrimSuffix(address, "/")
	return address[strings.LastIndexByte(address, '/')+1:]
}

// sentryPage is the page of an issue, from its address in Sentry's API: .../api/0/organizations/<organisation>/issues/<id>/.
func sentryPage(address string) string {
	if !strings.Contains(address, "/api/0/organizations/") {
		return ""
	}
	return strings.Replace(address, "/api/0/organizations/", "/organizations/", 1)
}
