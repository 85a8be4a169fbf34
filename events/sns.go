package events

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// sns is the envelope of Amazon SNS, with a CloudWatch alarm, an event of EventBridge or any text inside
// (https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html).
var sns = source{
	name: "sns",
	rank: byHeader,
	claims: func(in input) bool {
		return in.header.Get(snsType) != "" && in.header.Get(snsRaw) == "" || in.has("Type", "MessageId", "TopicArn") || isLambdaSNS(in.object)
	},
	decode:   decodeSNS,
	delivery: "X-Amz-Sns-Message-Id",
}

// Headers of Amazon SNS.
const (
	snsType = "X-Amz-Sns-Message-Type"
	snsRaw  = "X-Amz-Sns-Rawdelivery"
)

func isLambdaSNS(o object) bool {
	records := o.objects("Records")
	return len(records) > 0 && records[0].has("Sns")
}

func decodeSNS(in input) ([]Event, error) {
	if !isLambdaSNS(in.object) {
		return []Event{snsMessage(in.object, in.limits)}, nil
	}
	var all []Event
	for _, record := range in.objects("Records") { // as AWS Lambda is given them
		all = append(all, snsMessage(record.child("Sns"), in.limits))
	}
	return all, nil
}

func snsMessage(o object, limits Limits) Event {
	topic := topicName(o.text("TopicArn"))
	var event Event
	switch o.text("Type") {
	case "SubscriptionConfirmation":
		event = Event{
			Category: topic, Severity: Warning, Title: "Amazon SNS asks to confirm the subscription to " + topic,
			Text: "Nothing of this topic arrives until somebody opens the link.",
		}
		event.addLink("Confirm subscription", "subscribe_url", o.text("SubscribeURL"))
	case "UnsubscribeConfirmation":
		event = Event{
			Category: topic, Severity: Warning, Title: "Unsubscribed from Amazon SNS topic " + topic,
			Text: "Nothing of this topic arrives any more, unless somebody opens the link.",
		}
		event.addLink("Subscribe again", "subscribe_url", o.text("SubscribeURL"))
	default:
		event = snsNotification(o, topic, limits)
	}
	event.ID = o.text("MessageId")
	event.setLabel("topic", topic)
	return event
}

// snsNotification is what somebody published: a document that is known, or any text.
func snsNotification(o object, topic string, limits Limits) Event {
	text := o.text("Message")
	if inner, _, err := parseBody([]byte(text), limits.Depth); err == nil && inner != nil {
		switch {
		case isCloudwatch(inner):
			return cloudwatchAlarm(inner)
		case isEventbridge(inner):
			return eventbridgeEvent(inner)
		}
		if event, err := decodeGenericEvent(input{}, inner, jsontext.Value(strings.TrimSpace(text)), 0, ""); err == nil {
			event.Category = cmp.Or(event.Category, topic)
			return event
		}
	}
	event := Event{Category: topic, Title: cmp.Or(o.text("Subject"), firstLine(text), "Message of "+topic), Text: text}
	if event.Text == event.Title {
		event.Text = ""
	}
	return event
}

// topicName is the last part of a topic's ARN.
func topicName(arn string) string {
	return cmp.Or(arn[strings.LastIndexByte(arn, ':')+1:], "sns")
}
