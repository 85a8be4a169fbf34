package events

import (
	"cmp"
	"strings"
)

// mattermost is what tools send to an incoming webhook of Mattermost: Slack's format with Markdown instead of mrkdwn
// (https://developers.mattermost.com/integrate/webhooks/incoming). A body without the fields that only Mattermost has is
// Slack's, unless the path names the source.
var mattermost = source{
	name:  "mattermost",
	marks: marks{fields: []string{"props", "priority"}},
	claims: func(in input) bool {
		return (in.has("text") || len(in.objects("attachments")) > 0) && (in.child("props") != nil || in.child("priority").has("priority"))
	},
	decode: decodeMattermost,
}

func decodeMattermost(in input) ([]Event, error) {
	m := newChatMessage(in)
	m.Category = in.text("username")
	m.setLabel("username", in.text("username"))
	m.Severity = mattermostPriorities[strings.ToLower(in.text("priority", "priority"))]
	attachments := in.objects("attachments")
	if attachments == nil {
		attachments = in.objects("props", "attachments")
	}
	attachments = attachments[:min(len(attachments), maxChatParts)]
	for _, attachment := range attachments {
		if m.Title == "" {
			m.addMattermostTitle(attachment)
		}
	}
	m.addTitle(m.mattermostText(in.text("text")))
	for _, attachment := range attachments {
		m.addMattermostAttachment(attachment)
	}
	m.addLine(m.mattermostText(in.text("props", "card")))
	return m.event("text")
}

// mattermostPriorities are the priorities of posts.
var mattermostPriorities = map[string]Severity{"urgent": Critical, "important": Error}

func (m *chatMessage) addMattermostTitle(attachment object) {
	m.addButton("Link", attachment.text("title_link"))
	m.addTitle(m.mattermostText(attachment.text("title")))
}

func (m *chatMessage) addMattermostAttachment(attachment object) {
	m.Severity = cmp.Or(m.Severity, slackColors[strings.ToLower(attachment.text("color"))])
	m.addColor(attachment.text("color"))
	m.addLine(m.mattermostText(attachment.text("pretext")))
	m.addHeading(m.mattermostText(attachment.text("author_name")))
	if title := m.plain(m.mattermostText(attachment.text("title"))); title != m.Title {
		m.addButton(attachment.text("title"), attachment.text("title_link"))
		m.addHeading(title)
	}
	text := attachment.text("text")
	if text == "" && attachment.text("title") == "" {
		text = attachment.text("fallback")
	}
	m.addLine(m.mattermostText(text))
	for _, field := range attachment.objects("fields") {
		m.addFact(field.text("title"), m.mattermostText(field.text("value")))
	}
	m.addLine(m.mattermostText(attachment.text("footer")))
}

// mattermostText reads the links and mentions in Slack's notation, which Mattermost accepts too.
func (m *chatMessage) mattermostText(text string) string {
	return markup{links: &m.Links}.slackLinks(text)
}
