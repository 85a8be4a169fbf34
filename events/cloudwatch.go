package events

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

// cloudwatch is an alarm of Amazon CloudWatch, as SNS delivers it raw
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html).
var cloudwatch = source{
	name:   "cloudwatch",
	marks:  marks{fields: []string{"AlarmName"}},
	claims: func(in input) bool { return isCloudwatch(in.object) },
	decode: one(func(in input) Event { return cloudwatchAlarm(in.object) }),
}

func isCloudwatch(o object) bool { return o.has("AlarmName", "NewStateValue") }

func cloudwatchAlarm(o object) Event {
	name, state := o.text("AlarmName"), o.text("NewStateValue")
	event := Event{
		Category: name, Title: joined(": ", state, name), Text: joined("\n", o.text("AlarmDescription"), o.text("NewStateReason")),
		Fingerprint: cmp.Or(o.text("AlarmArn"), joined("/", o.text("AWSAccountId"), o.text("Region"), name)),
		StartedAt:   timeOf(o.text("StateChangeTime")),
	}
	event.alarm(statusOf(state)) // none for INSUFFICIENT_DATA
	event.setLabel("state", state)
	event.setLabel("region", o.text("Region"))
	event.setLabel("account", o.text("AWSAccountId"))
	event.metrics(o.child("Trigger"))
	event.addLink("Alarm", "alarm_url", alarmLink(o.text("AlarmArn"), name))
	return event
}

// metrics sets labels with what an alarm watches: a metric, or those of an expression over several.
func (e *Event) metrics(trigger object) {
	watched := []object{trigger}
	for _, part := range trigger.objects("Metrics") {
		watched = append(watched, part.child("MetricStat", "Metric"))
		e.setLabel("expression", part.text("Expression"))
	}
	var names []string
	for _, metric := range watched {
		names = append(names, joined("/", metric.text("Namespace"), metric.text("MetricName")))
		for _, dimension := range metric.objects("Dimensions") {
			e.setLabel(dimension.first("name", "Name"), dimension.first("value", "Value"))
		}
	}
	e.setLabel("metric", joined(", ", names...))
}

// alarmLink is the alarm's page in the console; its region stands in the ARN, arn:aws:cloudwatch:REGION:ACCOUNT:alarm:NAME.
func alarmLink(arn, name string) string {
	parts := strings.Split(arn, ":")
	if len(parts) < 7 || strings.ToLower(parts[3]) != parts[3] {
		return ""
	}
	host := map[string]string{"aws-cn": "console.amazonaws.cn", "aws-us-gov": "console.amazonaws-us-gov.com"}[parts[1]]
	return fmt.Sprintf("https://%s/cloudwatch/home?region=%s#alarmsV2:alarm/%s", cmp.Or(host, "console.aws.amazon.com"),
		url.QueryEscape(parts[3]), url.PathEscape(name))
}
