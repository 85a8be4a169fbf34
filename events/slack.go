package events

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SlackMessage is a message in Slack's own format, which is posted as it is, except for mentions. Title and Text of its event
// are the same as plain text.
type SlackMessage struct {
	Text        string         `json:"text,omitempty"`        // mrkdwn; Slack shows Blocks in its place
	Blocks      jsontext.Value `json:"blocks,omitempty"`      // an array
	Attachments jsontext.Value `json:"attachments,omitempty"` // an array
	TS          string         `json:"ts,omitempty"`          // the ts that the relay returned to the sender for this message
	Thread      string         `json:"thread,omitempty"`      // the ts of the message that this one replies to; "" = none
	Update      bool           `json:"update,omitempty"`      // it replaces the message with that ts
}

// HasContent reports whether there is a message to post in Slack's own format. One that was too long is reduced to the plain
// text of its event. It is false for nil.
func (m *SlackMessage) HasContent() bool {
	return m != nil && (m.Text != "" || len(m.Blocks) > 0 || len(m.Attachments) > 0)
}

// slack is what tools send to Slack: the body of an incoming webhook or of chat.postMessage
// (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
var slack = source{
	name:    "slack",
	aliases: []string{"slack_shaped"},
	rank:    byCommonFields, // many bodies have attachments, blocks or a text
	marks:   marks{fields: []string{"attachments", "blocks", "channel", "username", "icon_emoji", "mrkdwn"}},
	claims: func(in input) bool {
		return anyHas(in.objects("attachments"), slackAttachmentFields) || hasSlackBlock(in.objects("blocks")) ||
			in.has("text") && (in.has("channel") || in.has("username") || in.has("icon_emoji") || in.has("mrkdwn")) && !in.has("title")
	},
	decode: decodeSlack,
}

// slackAttachmentFields are the fields of an attachment that Slack shows as text. Other tools attach files or cards.
var slackAttachmentFields = []string{"text", "title", "pretext", "fallback", "fields", "blocks"}

// anyHas reports whether one of the objects has one of these fields.
func anyHas(all []object, names []string) bool {
	return slices.ContainsFunc(all, func(o object) bool {
		return slices.ContainsFunc(names, func(name string) bool { return o.has(name) })
	})
}

// slackBlocks are the types of blocks with text. Other tools have blocks of their own, such as the blocks of a pipeline.
var slackBlocks = map[string]bool{
	"section": true, "header": true, "context": true, "rich_text": true, "actions": true, "divider": true, "image": true,
	"markdown": true, "table": true, "video": true,
}

func hasSlackBlock(blocks []object) bool {
	return slices.ContainsFunc(blocks, func(block object) bool { return slackBlocks[block.text("type")] })
}

func isArray(value jsontext.Value) bool { return value.Kind() == '[' }

func decodeSlack(in input) ([]Event, error) {
	message := &SlackMessage{Text: in.text("text"), Thread: in.text("thread_ts")}
	var blocks, attachments []object
	var cutBlocks, cutAttachments int // bytes beyond Slack's limits
	message.Blocks, blocks, cutBlocks = slackList(in, "blocks", maxBlocks, maxBlockText)
	message.Attachments, attachments, cutAttachments = slackList(in, "attachments", maxAttachments, maxBlockText)
	title, rest := slackTitle(message.Text, blocks, attachments)
	if title == "" {
		return nil, badField("text", "is empty, and so are blocks and attachments; set one of them")
	}
	event := Event{Category: in.text("username"), Title: title, Text: rest, Slack: message}
	if cutBlocks+cutAttachments > 0 {
		event.Shortened = len(in.body)
	}
	for _, attachment := range attachments {
		event.Severity = cmp.Or(event.Severity, slackColors[strings.ToLower(attachment.text("color"))])
		event.addLink("Link", "title_link", attachment.text("title_link"))
	}
	event.Severity = cmp.Or(event.Severity, Info)
	switch {
	case strings.HasPrefix(title, "[FIRING"):
		event.Status = Firing
	case strings.HasPrefix(title, "[RESOLVED"):
		event.Status = Resolved
	}
	event.setLabel("username", in.text("username"))
	return []Event{event}, nil
}

// Limits of Slack for one message (https://docs.slack.dev/reference/block-kit/blocks,
// https://docs.slack.dev/reference/methods/chat.postMessage#errors). It refuses a message with more text in its blocks.
const (
	maxBlocks      = 50
	maxBlockText   = 12_000 // characters
	maxAttachments = 100
)

// slackList reads an array of blocks or attachments, or an array as JSON within a string, as forms have it; nil for any other
// value. It keeps the beginning of a longer array, up to Slack's limits. items are the objects to read text from, and removed
// is the number of bytes that are not in kept.
func slackList(in input, name string, most, mostText int) (kept jsontext.Value, items []object, removed int) {
	value := in.at(name)
	if value.Kind() == '"' {
		value = jsontext.Value(strings.TrimSpace(unquoted(value)))
		if _, _, err := parseBody(value, in.limits.Depth); err != nil {
			return nil, nil, 0
		}
	}
	if !isArray(value) || string(value) == "[]" {
		return nil, nil, 0
	}
	n, text := 0, 0
	for item := range itemsOf(value) {
		if n++; n > most {
			removed += len(item)
			continue
		}
		if fields := objectOf(item); fields != nil {
			items = append(items, fields)
		}
		if len(value) > mostText {
			text += textIn(item)
		}
		if text > mostText || removed > 0 {
			removed += len(item)
			continue
		}
		kept = append(append(kept, ','), item...)
	}
	if removed == 0 {
		return bytes.Clone(value), items, 0 // the caller may use the body again
	}
	if kept == nil {
		return nil, items, removed
	}
	kept[0] = '['
	return append(kept, ']'), items, removed
}

// textIn returns the number of characters in the strings of a value, without names of fields.
func textIn(value jsontext.Value) int {
	n := 0
	for dec := jsontext.NewDecoder(bytes.NewBuffer(value), lax); ; {
		token, err := dec.ReadToken()
		if err != nil {
			return n
		}
		if kind, length := dec.StackIndex(dec.StackDepth()); token.Kind() == '"' && (kind != '{' || length%2 == 0) {
			n += utf8.RuneCountInString(token.String())
		}
	}
}

// slackTitle returns a message as plain text: its title, and the rest.
func slackTitle(text string, blocks, attachments []object) (title, rest string) {
	lines := []string{}
	add := func(mrkdwn string) {
		if plain := strings.TrimSpace(plainText(mrkdwn)); plain != "" {
			lines = append(lines, plain)
		}
	}
	for _, a := range attachments {
		add(a.text("title"))
	}
	for _, block := range blocks {
		if block.text("type") == "header" {
			add(block.text("text", "text"))
		}
	}
	add(text)
	for _, block := range blocks {
		addBlock(block, add)
	}
	for _, a := range attachments {
		addAttachment(a, add)
	}
	if len(lines) == 0 {
		return "", ""
	}
	title, more, _ := strings.Cut(lines[0], "\n")
	rest = joined("\n", append([]string{title, strings.TrimSpace(more)}, lines[1:]...)...)
	return title, strings.TrimPrefix(strings.TrimPrefix(rest, title), "\n")
}

func addBlock(block object, add func(string)) {
	add(block.text("text", "text"))
	for _, field := range block.objects("fields") {
		add(field.text("text"))
	}
	for _, element := range block.objects("elements") {
		add(cmp.Or(element.text("text"), richText(element, 0)))
	}
}

func addAttachment(a object, add func(string)) {
	add(a.text("pretext"))
	add(a.text("text"))
	for _, field := range a.objects("fields") {
		add(joined(": ", field.text("title"), field.text("value")))
	}
	for _, block := range a.objects("blocks") {
		addBlock(block, add)
	}
	if a.text("title") == "" && a.text("text") == "" {
		add(a.text("fallback"))
	}
}

// maxRichText is how deep lists and quotes of a rich text are read.
const maxRichText = 5

// richText returns the text of a rich_text element.
func richText(element object, depth int) string {
	if depth > maxRichText {
		return ""
	}
	var parts []string
	for _, part := range element.objects("elements") {
		parts = append(parts, cmp.Or(part.text("text"), part.text("url"), richText(part, depth+1)))
	}
	return strings.Join(parts, "")
}

// slackColors are the colours that tools use, and their meanings.
var slackColors = map[string]Severity{
	"danger": Error, "#a30200": Error, "#e01e5a": Error, "#ff0000": Error, "#d00000": Error, "#a30202": Error, "#d63232": Error,
	"warning": Warning, "#daa038": Warning, "#ecb22e": Warning, "#ffa500": Warning,
	"good": Info, "#2eb886": Info, "#36a64f": Info, "#2eb67d": Info,
}

// slackMarkup is a link or a mention in mrkdwn: <https://example.com|the page>, <https://example.com>, <!here>.
var slackMarkup = regexp.MustCompile(`<[^>]*>`)

// plainText returns mrkdwn without links and entities, and with mentions that are not active again.
func plainText(mrkdwn string) string {
	return entities.Replace(slackMarkup.ReplaceAllStringFunc(mrkdwn, func(markup string) string {
		if _, label, labelled := strings.Cut(markup, "|"); labelled {
			return strings.TrimSuffix(label, ">")
		}
		return strings.TrimPrefix(markup[1:len(markup)-1], "!")
	}))
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
