package notifier

import (
	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Notice is a message of the relay to its operators.
type Notice struct {
	ID      string `json:"id"`
	Channel string `json:"channel"` // the name in the relay
	Text    string `json:"text"`    // one sentence
	Detail  string `json:"detail,omitempty"`
}

// Notice renders a notice.
func (Renderer) Notice(n Notice) Message {
	m := Message{ID: n.ID, Color: styles[events.Error].color, Text: "🚨 *relay:* " + escaped(oneLine(n.Text), maxHeadline)}
	if n.Detail != "" {
		m.Blocks = []slack.Block{slack.NewContextBlock("", mrkdwn(escaped(n.Detail, maxContext)))}
		m.Fallback = escaped(n.Detail, maxFallback)
	}
	return m
}
