package events

import (
	"cmp"
	"strings"
)

// newrelic is the webhook of New Relic: an issue of a workflow, or an incident of the legacy channels; both are templates
// (https://docs.newrelic.com/docs/alerts/get-notified/notification-integrations/).
var newrelic = source{
	name: "newrelic",
	claims: func(in input) bool {
		return in.has("issueUrl", "state") || in.has("alertPolicyNames") || in.has("condition_name", "policy_name", "current_state")
	},
	decode: one(func(in input) Event {
		o := filledIn(in.object)
		if in.has("condition_name") && !in.has("issueUrl") && !in.has("state") {
			return newrelicIncident(o)
		}
		return newrelicIssue(o)
	}),
}

func newrelicIssue(o object) Event {
	conditions, policies := o.texts("alertconditionnames"), o.texts("alertpolicynames")
	event := Event{
		Category: cmp.Or(strings.Join(conditions[:min(len(conditions), 1)], ""), o.text("condition_name"),
			strings.Join(policies[:min(len(policies), 1)], "")),
		Title: cmp.Or(o.text("title"), o.text("condition_name"), "New Relic issue"), Text: o.text("details"),
		Fingerprint: named("issue", o.text("id")),
		StartedAt:   timeOf(o.text("createdat")),
	}
	event.setSeverity(o.text("priority"))
	state := strings.ToUpper(o.text("state"))
	event.Status = map[string]Status{"CREATED": Firing, "ACTIVATED": Firing, "CLOSED": Resolved}[state]
	if event.Status == NoStatus { // ACKNOWLEDGED and the like: it is still what it was
		event.setLabel("state", state)
	}
	if id := o.text("id"); id != "" { // each change of an issue is sent
		event.ID = joined(":", id, o.text("state"), o.text("trigger"), o.text("updatedat"))
	}
	event.setLabel("entities", strings.Join(o.texts("impactedentities"), ", "))
	event.setLabel("policy", strings.Join(policies, ", "))
	event.setLabel("condition", cmp.Or(strings.Join(conditions, ", "), o.text("condition_name")))
	event.addLink("New Relic", "issue_url", o.text("issueurl"))
	return event
}

func newrelicIncident(o object) Event {
	event := Event{
		Category: cmp.Or(o.text("condition_name"), o.text("policy_name")),
		Title:    cmp.Or(o.text("condition_name"), o.text("policy_name"), "New Relic incident"),
		Text:     o.text("details"), StartedAt: timeOf(o.text("timestamp")),
	}
	if id := o.text("incident_id"); id != "" && id != "0" {
		event.Fingerprint = "incident " + id
	}
	event.setSeverity(o.text("severity"))
	event.setStatus(o.text("current_state"))
	event.setLabel("policy", o.text("policy_name"))
	event.setLabel("account", o.text("account_name"))
	for _, target := range o.objects("targets") {
		event.setLabel("target", target.text("name"))
	}
	event.addLink("New Relic", "incident_url", o.text("incident_url"))
	event.addLink("Runbook", "runbook_url", o.text("runbook_url"))
	event.addLink("Chart", "violation_chart_url", o.text("violation_chart_url"))
	return event
}
