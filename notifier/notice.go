package notifier

import (
	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Notice is a message of the relay itself.
type Notice struct {
	ID      string `json:"id"`
	Channel string `json:"channel"` // the name in the relay
	Text    string `json:"text"`    // one sentence
	Detail  string `json:"detail,omitempty"`
	// Silence is a notice about a silence, for the people of its channel; nil = the notice is for the operators.
	Silence *SilenceNotice `json:"silence,omitempty"`
}

// Notice renders a notice.
func (r Renderer) Notice(n Notice) Message {
	if n.Silence != nil {
		return r.silence(n)
	}
	m := Message{ID: n.ID, Color: styles[events.Error].color, Text: "🚨 *relay:* " + escaped(oneLine(n.Text), maxHeadline)}
	if n.Detail != "" {
		m.Blocks = []slack.Block{slack.NewContextBlock("", mrkdwn(escaped(n.Detail, maxContext)))}
		m.Fallback = escaped(n.Detail, maxFallback)
	}
	return m
}
