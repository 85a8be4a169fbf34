package events

import (
	"cmp"
	"strings"
)

// sns is the envelope of Amazon SNS, with a CloudWatch alarm, an event of EventBridge or any text inside
// (https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html).
var sns = source{
	name:  "sns",
	rank:  byHeader,
	marks: marks{fields: []string{"TopicArn", "Records"}, headers: []string{snsType}},
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
		return snsMessage(in, in.object), nil
	}
	var all []Event
	for _, record := range in.objects("Records") { // as AWS Lambda is given them
		all = append(all, snsMessage(in, record.child("Sns"))...)
	}
	return all, nil
}

func snsMessage(in input, o object) []Event {
	topic := topicName(o.text("TopicArn"))
	all := []Event{{Category: topic, Severity: Warning}}
	switch event := &all[0]; o.text("Type") {
	case "SubscriptionConfirmation":
		event.Title = "Amazon SNS asks to confirm the subscription to " + topic
		event.Text = "Nothing of this topic arrives until somebody opens the link."
		event.addLink("Confirm subscription", "subscribe_url", o.text("SubscribeURL"))
	case "UnsubscribeConfirmation":
		event.Title = "Unsubscribed from Amazon SNS topic " + topic
		event.Text = "Nothing of this topic arrives any more, unless somebody opens the link."
		event.addLink("Subscribe again", "subscribe_url", o.text("SubscribeURL"))
	default:
		all = snsNotification(in, o, topic)
	}
	for i := range all {
		all[i].ID = o.text("MessageId")
		if i > 0 && all[i].ID != "" {
			all[i].ID = deliveryEventID(all[i].ID, i)
		}
		all[i].setLabel("topic", topic)
	}
	return all
}

// snsNotification is what somebody published: a document of a known source, or any text.
func snsNotification(in input, o object, topic string) []Event {
	text := o.text("Message")
	if all := in.unwrapped([]byte(text), topic); all != nil {
		return all
	}
	if strings.HasPrefix(text, "StackId='") {
		return []Event{stackEvent(text)}
	}
	event := Event{Category: topic, Title: cmp.Or(o.text("Subject"), firstLine(text), "Message of "+topic), Text: text}
	if event.Text == event.Title {
		event.Text = ""
	}
	return []Event{event}
}

// topicName is the last part of a topic's ARN.
func topicName(arn string) string {
	return cmp.Or(arn[strings.LastIndexByte(arn, ':')+1:], "sns")
}
