package events

import "cmp"

// kubernetes is an event of Kubernetes, as exporters of events post it
// (https://kubernetes.io/docs/reference/kubernetes-api/core/event-v1/).
var kubernetes = source{
	name:  "kubernetes",
	marks: marks{fields: []string{"involvedObject", "regarding"}},
	claims: func(in input) bool {
		return in.has("involvedObject", "reason") && !isFlux(in.object) || in.text("kind") == "Event" && in.has("regarding", "reason")
	},
	decode: one(decodeKubernetes),
}

// isFlux reports whether a body is an event of Flux, which is like one of Kubernetes but has a severity.
func isFlux(o object) bool { return o.has("involvedObject", "reportingController", "severity") }

func decodeKubernetes(in input) Event {
	about := in.child("involvedObject")
	if about == nil {
		about = in.child("regarding")
	}
	reason, name := in.text("reason"), joined("/", about.text("namespace"), about.text("name"))
	event := Event{
		Category: reason, Title: joined(" ", reason+":", about.text("kind"), name), Text: cmp.Or(in.text("message"), in.text("note")),
		Fingerprint: joined(" ", cmp.Or(about.text("uid"), name), reason),
		StartedAt:   timeOf(cmp.Or(in.text("firstTimestamp"), in.text("eventTime"), in.text("metadata", "creationTimestamp"))),
	}
	if in.text("type") == "Normal" {
		event.Severity = Info
	} else {
		event.Severity = Warning
	}
	times := cmp.Or(in.text("count"), in.text("series", "count"))
	if uid := in.text("metadata", "uid"); uid != "" { // the same event is sent again with a higher count
		event.ID = joined(":", uid, times)
	}
	event.addLabels(about, "namespace", "kind", "name")
	event.setLabel("reason", reason)
	event.setLabel("count", times)
	event.setLabel("node", in.text("source", "host"))
	event.setLabel("component", cmp.Or(in.text("source", "component"), in.text("reportingComponent")))
	event.setLabel("cluster", in.text("clusterName"))
	return event
}
