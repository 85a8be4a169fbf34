package events

import "cmp"

// gcpMonitoring is the webhook of Google Cloud Monitoring
// (https://docs.cloud.google.com/monitoring/support/notification-options#webhooks).
var gcpMonitoring = source{
	name:    "gcp_monitoring",
	aliases: []string{"google_cloud_monitoring", "stackdriver"},
	marks:   marks{fields: []string{"incident"}},
	claims: func(in input) bool {
		incident := in.child("incident")
		return incident.has("incident_id") && (incident.has("condition_name") || incident.has("policy_name"))
	},
	decode: one(decodeGCPMonitoring),
}

func decodeGCPMonitoring(in input) Event {
	incident := in.child("incident")
	documentation := cmp.Or(incident.text("documentation", "content"), incident.text("documentation"))
	event := Event{
		Category: cmp.Or(incident.text("policy_name"), incident.text("condition_name")),
		Title:    cmp.Or(joined(": ", incident.text("policy_name"), incident.text("condition_name")), "Google Cloud alert"),
		Text:     joined("\n", incident.text("summary"), documentation), Fingerprint: named("incident", incident.text("incident_id")),
		StartedAt: timeOf(incident.text("started_at")),
	}
	labels := incident.child("policy_user_labels")
	event.setSeverity(cmp.Or(incident.text("severity"), labels.text("severity")))
	event.setStatus(incident.text("state"))
	event.endAt(incident.text("ended_at"))
	event.setLabel("resource", cmp.Or(incident.text("resource_display_name"), incident.text("resource_name")))
	event.setLabel("project", cmp.Or(incident.text("scoping_project_id"), incident.text("resource", "labels", "project_id")))
	event.setLabel("observed", incident.text("observed_value"))
	event.setLabel("threshold", incident.text("threshold_value"))
	event.addLabels(labels)
	event.addLink("Google Cloud", "url", incident.text("url"))
	return event
}
