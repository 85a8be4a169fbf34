package events

import (
	"cmp"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// pubsub is the envelope of Google Cloud Pub/Sub's push subscriptions, with an incident of Cloud Monitoring, a build, a budget or
// any other content inside (https://docs.cloud.google.com/pubsub/docs/push#receive_push).
var pubsub = source{
	name:    "pubsub",
	aliases: []string{"google_pubsub", "gcp_pubsub"},
	marks:   marks{fields: []string{"subscription"}},
	claims: func(in input) bool {
		message := in.child("message")
		return in.has("subscription") && (message.has("data") || message.has("attributes")) &&
			(message.has("messageId") || message.has("message_id"))
	},
	decode: decodePubsub,
}

func decodePubsub(in input) ([]Event, error) {
	message := in.child("message")
	id, subscription := message.first("messageId", "message_id"), in.text("subscription")
	topic := cmp.Or(subscription[strings.LastIndexByte(subscription, '/')+1:], "pubsub")
	raw, err := base64.StdEncoding.DecodeString(message.text("data"))
	if err != nil || !utf8.Valid(raw) {
		raw = nil
	}
	all := in.unwrapped(raw, topic)
	if all == nil {
		text := string(raw)
		all = []Event{{Category: topic, Title: cmp.Or(firstLine(text), "Message of "+topic), Text: text}}
		if all[0].Text == all[0].Title {
			all[0].Text = ""
		}
	}
	for i := range all {
		if all[i].ID = id; i > 0 && id != "" {
			all[i].ID = deliveryEventID(id, i)
		}
		all[i].setLabel("subscription", topic)
		all[i].addLabels(message.child("attributes"))
	}
	return all, nil
}
