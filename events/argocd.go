package events

import (
	"cmp"
	"strings"
)

// argocd is a webhook of Argo CD Notifications. Its body is the user's template; known is this relay's own proposal, with
// the fields app, project, status, health, sync, revision, message and url, and the commit status of the examples
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/notifications/services/webhook/).
var argocd = source{
	name:  "argocd",
	marks: marks{fields: []string{"app", "state"}},
	claims: func(in input) bool {
		return in.has("app") && (in.has("sync") || in.has("health")) || in.has("state", "context", "target_url") &&
			strings.Contains(strings.ToLower(in.text("description")), "argo")
	},
	decode: one(decodeArgoCD),
}

func decodeArgoCD(in input) Event {
	app, status := in.text("app"), cmp.Or(in.text("status"), in.text("state"))
	if app == "" {
		app = in.text("context")[strings.LastIndexByte(in.text("context"), '/')+1:]
	}
	event := Event{
		Category: cmp.Or(app, "argocd"), Severity: Info, Text: cmp.Or(in.text("message"), in.text("description")),
		Title:     joined(" ", cmp.Or(app, "Argo CD"), named("sync", strings.ToLower(status)), strings.ToLower(in.text("health"))),
		StartedAt: timeOf(in.text("timestamp")),
	}
	health := strings.ToLower(in.text("health"))
	switch {
	case failures[strings.ToLower(status)] != "" || health == "degraded":
		event.Status, event.Severity = Firing, Error
	case health == "missing" || health == "unknown":
		event.Severity = Warning
	}
	event.Fingerprint = joined(" ", in.text("project"), app)
	if revision := in.text("revision"); revision != "" {
		event.ID = joined(":", app, revision, status, health, in.text("timestamp"))
		event.setLabel("revision", revision[:min(len(revision), 8)])
	}
	event.addLabels(in.object, "project", "sync", "health")
	event.addLink("Argo CD", "url", cmp.Or(in.text("url"), in.text("target_url")))
	event.addLink("Repository", "repository", in.text("repository"))
	return event
}
