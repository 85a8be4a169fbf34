package notifier

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// NativeBlocks are the blocks and attachments of a sender that writes for Slack, as JSON in Slack's own format, without active
// mentions.
type NativeBlocks struct {
	Blocks      json.RawMessage // an array; nil = none
	Attachments json.RawMessage // an array; nil = none
}

// Slack's bounds (https://docs.slack.dev/reference/methods/chat.postMessage). Anything beyond them is removed.
const (
	maxNativeBlocks      = 50
	maxNativeAttachments = 100
	maxNativeDepth       = 40
)

// native renders an event of a Slack-shaped sender in the sender's own layout.
func (r Renderer) native(e events.Event) Message {
	original := e.Slack
	note := ""
	if e.Shortened > 0 {
		note = "_" + shortenedNote(e) + "_"
	}
	m := Message{ID: e.ID, Text: cutMarkup(r.withoutMentions(original.Text), maxText-len(note))}
	m.Fallback = escaped(strings.TrimSpace(e.Title+"\n"+e.Text), maxFallback)
	native := NativeBlocks{
		Blocks:      r.listWithoutMentions(appendNote(original.Blocks, note), maxNativeBlocks),
		Attachments: r.listWithoutMentions(original.Attachments, maxNativeAttachments),
	}
	if native.Blocks == nil && native.Attachments == nil {
		m.Fallback = ""
	} else {
		m.Native = &native
	}
	if m.Text == "" && native.Blocks != nil { // for phone notifications; Slack shows the blocks
		m.Text = escaped(e.Title, maxHeadline)
	}
	m.Text = strings.TrimSpace(r.withMention(testMark(e)+m.Text, e))
	if note != "" && native.Blocks == nil { // Slack shows blocks in place of the text
		m.Text += "\n" + note
	}
	return m
}

// appendNote adds a note below blocks.
func appendNote(blocks []byte, note string) []byte {
	if len(blocks) == 0 || note == "" {
		return blocks
	}
	var list []json.RawMessage
	if json.Unmarshal(blocks, &list) != nil {
		return blocks
	}
	below, err := json.Marshal(slack.NewContextBlock("", mrkdwn(note)))
	if err != nil {
		return blocks
	}
	encoded, err := json.Marshal(append(list[:min(len(list), maxNativeBlocks-1)], below))
	if err != nil {
		return blocks
	}
	return encoded
}

// testMark is the prefix of events from the test lane.
func testMark(e events.Event) string {
	if e.Test {
		return "🧪 *Test:* "
	}
	return ""
}

// mentions are what mentions people in mrkdwn, or may: Slack documents more words for that than it lists, so all counts that begins
// as they do, and is no date.
var (
	mentions       = regexp.MustCompile(`<\s*([!@][^<>|]*)(?:\|([^<>]*))?>`)
	nestedMentions = regexp.MustCompile(`<\s*[!@][^<>]*>?`) // one that contained another
	dates          = regexp.MustCompile(`^<!date\^[0-9]{1,12}\^[^<>|^]+(?:\^https?://[^<>|^\s]+)?\|[^<>|]*>$`)
)

// withoutMentions disables the mentions in mrkdwn: their names stay, with a character that keeps Slack from interpreting them.
// Hidden characters are removed first: they could keep a mention from being recognised.
func (r Renderer) withoutMentions(mrkdwn string) string {
	mrkdwn = withoutHidden(mrkdwn)
	if r.AllowMentions || !strings.Contains(mrkdwn, "<") {
		return mrkdwn
	}
	mrkdwn = mentions.ReplaceAllStringFunc(mrkdwn, func(mention string) string {
		if dates.MatchString(mention) {
			return mention
		}
		parts := mentions.FindStringSubmatch(mention)
		name := strings.TrimLeft(parts[2], "@")
		if name == "" {
			name = strings.TrimPrefix(strings.TrimLeft(parts[1], "!@"), "subteam^")
		}
		return inertName(name)
	})
	return nestedMentions.ReplaceAllStringFunc(mrkdwn, func(rest string) string {
		if dates.MatchString(rest) {
			return rest
		}
		return "&lt;" + rest[1:]
	})
}

// inertName returns a name that Slack does not take for a mention.
func inertName(name string) string { return "@\u200b" + name }

// listWithoutMentions disables the mentions in an array of blocks or attachments; nil for any other value. It keeps at most
// so many items.
func (r Renderer) listWithoutMentions(raw []byte, most int) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var list []any
	if decoder.Decode(&list) != nil || len(list) == 0 {
		return nil
	}
	list = list[:min(len(list), most)]
	for i := range list {
		list[i] = r.valueWithoutMentions(list[i], 0)
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return encoded
}

func (r Renderer) valueWithoutMentions(value any, depth int) any {
	switch v := value.(type) {
	case string:
		return r.withoutMentions(v)
	case []any:
		if depth > maxNativeDepth {
			return nil
		}
		for i := range v {
			v[i] = r.valueWithoutMentions(v[i], depth+1)
		}
	case map[string]any:
		if depth > maxNativeDepth {
			return nil
		}
		if text, ok := r.elementWithoutMention(v); ok {
			return text
		}
		for name := range v {
			v[name] = r.valueWithoutMentions(v[name], depth+1)
		}
	}
	return value
}

// elementWithoutMention returns a text in place of an element of a rich text that is a mention; ok is false for others.
func (r Renderer) elementWithoutMention(element map[string]any) (text map[string]any, ok bool) {
	if r.AllowMentions {
		return nil, false
	}
	kind, _ := element["type"].(string)
	name, ok := element[map[string]string{"broadcast": "range", "user": "user_id", "usergroup": "usergroup_id"}[kind]].(string)
	if !ok {
		return nil, false
	}
	return map[string]any{"type": "text", "text": inertName(name)}, true
}

// rawBlock is a block as its sender wrote it: slack-go would remove fields that it does not know.
type rawBlock struct{ raw json.RawMessage }

// BlockType implements [slack.Block].
func (rawBlock) BlockType() slack.MessageBlockType { return "" }

// ID implements [slack.Block].
func (rawBlock) ID() string { return "" }

// MarshalJSON implements [json.Marshaler].
func (b rawBlock) MarshalJSON() ([]byte, error) { return b.raw, nil }

func rawBlocks(raw json.RawMessage) []slack.Block {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	blocks := make([]slack.Block, len(list))
	for i, one := range list {
		blocks[i] = rawBlock{one}
	}
	return blocks
}

// options returns the arguments of a Web API method.
func (o NativeBlocks) options() []slack.MsgOption {
	var all []slack.MsgOption
	if o.Blocks != nil {
		all = append(all, slack.MsgOptionBlocks(rawBlocks(o.Blocks)...))
	}
	var list []map[string]json.RawMessage
	if o.Attachments == nil || json.Unmarshal(o.Attachments, &list) != nil {
		return all
	}
	attachments := make([]slack.Attachment, 0, len(list))
	for _, fields := range list {
		blocks := fields["blocks"]
		delete(fields, "blocks") // slack-go would remove fields that it does not know
		var attachment slack.Attachment
		encoded, err := json.Marshal(fields)
		if err != nil || json.Unmarshal(encoded, &attachment) != nil {
			continue
		}
		attachment.Blocks.BlockSet = rawBlocks(blocks)
		attachments = append(attachments, attachment)
	}
	return append(all, slack.MsgOptionAttachments(attachments...))
}
