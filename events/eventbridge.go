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
	event := Event{ID: o.text("id"), Category: kind, Title: kind, StartedAt: timeOf(o.text("time"))}
	switch findings := detail.objects("findings"); {
	case detail.text("alarmName") != "":
		event.alarmState(o, detail)
	case detail.text("eventTypeCategory") != "":
		event.health(o, detail)
	case len(findings) > 0: // Security Hub
		event.finding(kind, findings[0])
	case strings.Contains(kind, "Finding"):
		event.finding(kind, detail)
	case strings.HasPrefix(o.text("source"), "aws."):
		event.change(o, detail)
	default:
		event.custom(o, detail)
	}
	if event.Text == "" {
		event.Text = strings.Join(o.texts("resources"), ", ")
	}
	event.addLabels(o, "source", "region", "account")
	event.setLabel("service", detail.text("service"))
	return event
}

// alarmState decodes a change of a CloudWatch alarm.
func (e *Event) alarmState(o, detail object) {
	e.Category, e.Fingerprint = detail.text("alarmName"), strings.Join(o.texts("resources"), " ")
	e.Title = joined(": ", detail.text("state", "value"), detail.text("alarmName"))
	e.Text = joined("\n", detail.text("configuration", "description"), detail.text("state", "reason"))
	e.setStatus(detail.text("state", "value"))
	e.alarm(e.Status)
	if resources := o.texts("resources"); len(resources) > 0 {
		e.addLink("Alarm", "alarm_url", alarmLink(resources[0], e.Category))
	}
}

// health decodes an event of AWS Health.
func (e *Event) health(o, detail object) {
	e.Category = cmp.Or(detail.text("eventTypeCode"), e.Category)
	e.Title = joined(": ", e.Title, detail.text("eventTypeCode"))
	for _, description := range detail.objects("eventDescription") {
		e.Text = joined("\n", e.Text, description.text("latestDescription"))
	}
	affected := o.texts("resources")
	for _, entity := range detail.objects("affectedEntities") {
		affected = append(affected, entity.text("entityValue"))
	}
	e.Text = joined("\n", e.Text, named("Affected:", joined(", ", affected...)))
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

// custom decodes an event of an application, whose detail may be anything.
func (e *Event) custom(o, detail object) {
	subject := cmp.Or(detail.first("title", "name"), subjectOf(detail))
	e.Title = joined(": ", e.Title, cmp.Or(subject, detail.first("state", "status", "pipeline")))
	fill(e, detail, o.field("detail"), gaps{text: true, severity: true, status: true, link: true, fingerprint: true, labels: true})
}
