package notifier

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Own is what a sender that speaks Slack wants to be shown, in Slack's own words: blocks and attachments as JSON, with
// nothing in them that calls people.
type Own struct {
	Blocks      json.RawMessage // an array; nil = none
	Attachments json.RawMessage // an array; nil = none
}

// Slack's bounds (https://docs.slack.dev/reference/methods/chat.postMessage). What is beyond them is left out.
const (
	maxOwnBlocks      = 50
	maxOwnAttachments = 100
	maxOwnDepth       = 40
)

// own says an event of a sender that speaks Slack as it wants to be said.
func (r Renderer) own(e events.Event) Message {
	said := e.Slack
	mark := ""
	if e.Shortened > 0 {
		mark = "_" + shortened(e) + "_"
	}
	m := Message{ID: e.ID, Text: cutMarkup(r.harmless(said.Text), maxText-len(mark))}
	m.Fallback = escaped(strings.TrimSpace(e.Title+"\n"+e.Text), maxFallback)
	own := Own{Blocks: r.harmlessList(marked(said.Blocks, mark), maxOwnBlocks), Attachments: r.harmlessList(said.Attachments, maxOwnAttachments)}
	if own.Blocks == nil && own.Attachments == nil {
		m.Fallback = ""
	} else {
		m.Own = &own
	}
	if m.Text == "" && own.Blocks != nil { // for the notification; Slack shows the blocks
		m.Text = escaped(e.Title, maxHeadline)
	}
	m.Text = strings.TrimSpace(r.calling(testMark(e)+m.Text, e))
	if mark != "" && own.Blocks == nil { // Slack shows blocks in place of the text
		m.Text += "\n" + mark
	}
	return m
}

// marked are blocks with a mark below them.
func marked(blocks []byte, mark string) []byte {
	if len(blocks) == 0 || mark == "" {
		return blocks
	}
	var list []json.RawMessage
	if json.Unmarshal(blocks, &list) != nil {
		return blocks
	}
	below, err := json.Marshal(slack.NewContextBlock("", mrkdwn(mark)))
	if err != nil {
		return blocks
	}
	encoded, err := json.Marshal(append(list[:min(len(list), maxOwnBlocks-1)], below))
	if err != nil {
		return blocks
	}
	return encoded
}

// testMark stands before what came by the test lane.
func testMark(e events.Event) string {
	if e.Test {
		return "🧪 *Test:* "
	}
	return ""
}

// calls are what calls people in mrkdwn, or may: Slack documents more words for that than it lists, so all counts that begins
// as they do, and is no date.
var (
	calls = regexp.MustCompile(`<\s*([!@][^<>|]*)(?:\|([^<>]*))?>`)
	rests = regexp.MustCompile(`<\s*[!@][^<>]*>?`) // one stood inside another
	dates = regexp.MustCompile(`^<!date\^[0-9]{1,12}\^[^<>|^]+(?:\^https?://[^<>|^\s]+)?\|[^<>|]*>$`)
)

// harmless takes the calls out of mrkdwn: their names stay, with a mark that keeps Slack from reading them. Characters that
// are not seen are dropped first: one inside a call must not hide it.
func (r Renderer) harmless(mrkdwn string) string {
	mrkdwn = strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && events.Hidden(c) {
			return -1
		}
		return c
	}, mrkdwn)
	if r.AllowMentions || !strings.Contains(mrkdwn, "<") {
		return mrkdwn
	}
	mrkdwn = calls.ReplaceAllStringFunc(mrkdwn, func(call string) string {
		if dates.MatchString(call) {
			return call
		}
		parts := calls.FindStringSubmatch(call)
		name := strings.TrimLeft(parts[2], "@")
		if name == "" {
			name = strings.TrimPrefix(strings.TrimLeft(parts[1], "!@"), "subteam^")
		}
		return dead(name)
	})
	return rests.ReplaceAllStringFunc(mrkdwn, func(rest string) string {
		if dates.MatchString(rest) {
			return rest
		}
		return "&lt;" + rest[1:]
	})
}

// dead is a name that calls nobody.
func dead(name string) string { return "@\u200b" + name }

// harmlessList takes the calls out of blocks or attachments; nil where there are none, or they are no list.
func (r Renderer) harmlessList(raw []byte, most int) json.RawMessage {
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
		list[i] = r.harmlessValue(list[i], 0)
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return encoded
}

func (r Renderer) harmlessValue(value any, depth int) any {
	switch v := value.(type) {
	case string:
		return r.harmless(v)
	case []any:
		if depth > maxOwnDepth {
			return nil
		}
		for i := range v {
			v[i] = r.harmlessValue(v[i], depth+1)
		}
	case map[string]any:
		if depth > maxOwnDepth {
			return nil
		}
		if text, ok := r.harmlessElement(v); ok {
			return text
		}
		for name := range v {
			v[name] = r.harmlessValue(v[name], depth+1)
		}
	}
	return value
}

// harmlessElement is the text of an element of a rich text that calls people.
func (r Renderer) harmlessElement(element map[string]any) (text map[string]any, ok bool) {
	if r.AllowMentions {
		return nil, false
	}
	kind, _ := element["type"].(string)
	name, ok := element[map[string]string{"broadcast": "range", "user": "user_id", "usergroup": "usergroup_id"}[kind]].(string)
	if !ok {
		return nil, false
	}
	return map[string]any{"type": "text", "text": dead(name)}, true
}

// ownBlock is a block as its sender wrote it.
type ownBlock struct{ raw json.RawMessage }

// BlockType implements [slack.Block].
func (ownBlock) BlockType() slack.MessageBlockType { return "" }

// ID implements [slack.Block].
func (ownBlock) ID() string { return "" }

// MarshalJSON implements [json.Marshaler].
func (b ownBlock) MarshalJSON() ([]byte, error) { return b.raw, nil }

func ownBlocks(raw json.RawMessage) []slack.Block {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	blocks := make([]slack.Block, len(list))
	for i, one := range list {
		blocks[i] = ownBlock{one}
	}
	return blocks
}

// options are the arguments of a Web API method.
func (o Own) options() []slack.MsgOption {
	var all []slack.MsgOption
	if o.Blocks != nil {
		all = append(all, slack.MsgOptionBlocks(ownBlocks(o.Blocks)...))
	}
	var list []map[string]json.RawMessage
	if o.Attachments == nil || json.Unmarshal(o.Attachments, &list) != nil {
		return all
	}
	attachments := make([]slack.Attachment, 0, len(list))
	for _, fields := range list {
		blocks := fields["blocks"]
		delete(fields, "blocks") // slack-go would leave out what it does not know of them
		var attachment slack.Attachment
		encoded, err := json.Marshal(fields)
		if err != nil || json.Unmarshal(encoded, &attachment) != nil {
			continue
		}
		attachment.Blocks.BlockSet = ownBlocks(blocks)
		attachments = append(attachments, attachment)
	}
	return append(all, slack.MsgOptionAttachments(attachments...))
}
