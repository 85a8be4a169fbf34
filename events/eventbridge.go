package events

import (
	"cmp"
	"strings"
)

// eventbridge is an event of Amazon EventBridge, AWS Health and changes of CloudWatch alarms among them
// (https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html).
var eventbridge = source{
	name:   "eventbridge",
	marks:  marks{fields: []string{"detail-type"}},
	claims: func(in input) bool { return isEventbridge(in.object) },
	decode: one(func(in input) Event { return eventbridgeEvent(in.object) }),
}

func isEventbridge(o object) bool { return o.has("detail-type", "detail", "source") }

func eventbridgeEvent(o object) Event {
	kind, detail := o.text("detail-type"), o.child("detail")
	event := Event{
		ID: o.text("id"), Category: kind, StartedAt: timeOf(o.text("time")),
		Title: joined(": ", kind, cmp.Or(detail.text("eventTypeCode"), detail.text("alarmName"),
			detail.first("title", "name", "state", "status", "pipeline"))),
	}
	for _, description := range detail.objects("eventDescription") { // AWS Health
		event.Text = joined("\n", event.Text, description.text("latestDescription"))
	}
	event.Text = cmp.Or(event.Text, detail.text("state", "reason"), detail.first("reason", "message", "description"),
		strings.Join(o.texts("resources"), ", "))
	switch {
	case detail.text("alarmName") != "": // CloudWatch Alarm State Change
		event.Category, event.Fingerprint = detail.text("alarmName"), strings.Join(o.texts("resources"), " ")
		event.Title = joined(": ", detail.text("state", "value"), detail.text("alarmName"))
		event.setStatus(detail.text("state", "value"))
		event.alarm(event.Status)
	case detail.text("eventTypeCategory") != "":
		event.health(detail)
	default:
		event.setSeverity(detail.first("severity", "level"))
	}
	event.addLabels(o, "source", "region", "account")
	event.setLabel("service", detail.text("service"))
	return event
}

// health decodes an event of AWS Health.
func (e *Event) health(detail object) {
	e.Category = cmp.Or(detail.text("eventTypeCode"), e.Category)
	e.Severity = map[string]Severity{
		"issue": Error, "accountNotification": Info, "scheduledChange": Warning,
		"investigation": Warning,
	}[detail.text("eventTypeCategory")]
	e.Fingerprint = detail.text("eventArn")
	e.setLabel("category", detail.text("eventTypeCategory"))
	if detail.text("statusCode") == "closed" {
		e.Status = Resolved
	} else if e.Severity == Error {
		e.Status = Firing
	}
}
