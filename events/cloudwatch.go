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
	event.setLabel("metric", joined("/", o.text("Trigger", "Namespace"), o.text("Trigger", "MetricName")))
	for _, dimension := range o.objects("Trigger", "Dimensions") {
		event.setLabel(dimension.text("name"), dimension.text("value"))
	}
	event.addLink("Alarm", "alarm_url", alarmLink(o.text("AlarmArn"), name))
	return event
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
