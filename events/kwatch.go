package events

// kwatch is the webhook of kwatch, which watches for crashing pods (https://github.com/abahmed/kwatch).
var kwatch = source{
	name:   "kwatch",
	marks:  marks{fields: []string{"Container"}},
	claims: func(in input) bool { return in.has("Reason", "Namespace", "Name", "Container") },
	decode: one(decodeKwatch),
}

func decodeKwatch(in input) Event {
	reason, pod := in.text("Reason"), joined("/", in.text("Namespace"), in.text("Name"))
	event := Event{
		Category: reason, Severity: Error, Title: joined(" ", reason+":", "Pod", pod), Labels: in.pairs("Labels"),
		Text:        joined("\n", in.text("Events"), lastLines(in.text("Logs"))),
		Fingerprint: joined(" ", in.text("Cluster"), pod, in.text("Container"), reason),
	}
	event.setLabel("cluster", in.text("Cluster"))
	event.setLabel("namespace", in.text("Namespace"))
	event.setLabel("container", in.text("Container"))
	event.setLabel("node", in.text("Node"))
	return event
}
