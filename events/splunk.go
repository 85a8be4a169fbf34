package events

import "cmp"

// splunk is the webhook of a Splunk alert, with the first of its results
// (https://docs.splunk.com/Documentation/Splunk/latest/Alert/Webhooks).
var splunk = source{
	name:  "splunk",
	marks: marks{fields: []string{"sid", "search_name"}},
	claims: func(in input) bool {
		return in.has("sid", "result") || in.has("search_name", "results_link")
	},
	decode: one(decodeSplunk),
}

func decodeSplunk(in input) Event {
	result, name := in.child("result"), in.text("search_name")
	event := Event{
		ID: in.text("sid"), Category: cmp.Or(name, "splunk"), Title: joined(": ", "Splunk alert", name),
		Text: cmp.Or(result.first("message", "_raw", "description"), joined(", ", named("count:", result.text("count")))),
	}
	if event.ID != "" { // one search can fire for each of its results
		event.ID = joined(":", event.ID, result.text("_time"), result.text("_serial"), result.text("_cd"))
	}
	event.setSeverity(result.first("severity", "urgency", "level"))
	event.addLabels(result, "host", "source", "sourcetype")
	event.addLabels(in.object, "app", "owner")
	event.addLink("Results", "results_link", in.text("results_link"))
	return event
}
