// Package notifier renders events as Slack messages and sends them: it posts and edits messages with a bot token or through
// an incoming webhook, looks up messages that may have been posted, and turns every answer of Slack into an [Error] that
// carries the next step.
//
// All text of an event is untrusted: it is escaped once, here, and cut to Slack's sizes. Only this package and a channel's own
// templates write markup between "<" and ">". Secrets (tokens, webhook URLs) never appear in an error.
package notifier

import (
	"context"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// Message is a Slack message: a headline, and below it an attachment with a bar in the severity's colour.
type Message struct {
	Text     string        // the headline, mrkdwn; also what a phone shows in its notification
	Color    string        // "#rrggbb"
	Fallback string        // the attachment as plain text, for clients that show no blocks
	Blocks   []slack.Block // the attachment
	// Native replaces the attachment; nil = the message was not written for Slack.
	Native *NativeBlocks `json:",omitempty"`
	// ID is the event's id and Entry the message's own. Both go into the metadata of the message, so that it can be looked
	// up; an incoming webhook cannot set metadata.
	ID, Entry string
	// Thread is the ts of the message that this one replies to; "" = none.
	Thread string
}

func (m Message) attachment() slack.Attachment {
	return slack.Attachment{Color: m.Color, Fallback: m.Fallback, Blocks: slack.Blocks{BlockSet: m.Blocks}}
}

// PlainText returns the message as one text, cut to Slack's size: without anything whose layout Slack could refuse.
func (m Message) PlainText() Message {
	text := m.Text
	if m.Fallback != "" {
		text += "\n" + m.Fallback
	}
	return Message{Text: cutMarkup(strings.TrimPrefix(text, "\n"), maxText), ID: m.ID, Entry: m.Entry, Thread: m.Thread}
}

// Receipt is the place of a posted message. It is empty for an incoming webhook, which does not return it.
type Receipt struct {
	Channel string // Slack's channel id
	TS      string // Slack's id of the message, "1700000000.000100"
}

// Sender posts messages to one destination. Every error is an [*Error].
type Sender interface {
	Send(ctx context.Context, m Message) (Receipt, error)
}

// Editor is a Sender that can edit the messages that it posted.
type Editor interface {
	Sender
	// Edit replaces a posted message.
	Edit(ctx context.Context, at Receipt, m Message) error
}

// Finder is a Sender that can look up the messages that it posted.
type Finder interface {
	Sender
	// Find looks for a message by the entry in its metadata, on one page of Slack's history.
	Find(ctx context.Context, q Query) (Page, error)
	// Findable reports whether Find can work: it needs Slack's id of the channel, which the first post returns.
	Findable() bool
}

// Query is a message to look for, and where.
type Query struct {
	Entry  string    // of the message
	Since  time.Time // the earliest time that it can have been posted
	Thread string    // the ts of the message that it replies to; "" = none
	Cursor string    // from the previous page; "" = the first page
}

// Page is the result for one page of history.
type Page struct {
	Found  bool
	At     Receipt // the place of the message, if Found
	Cursor string  // for the next page; "" = this is the last one
}

// Workspace is a Sender with a credential that others use too: Slack's rate limits apply to all of them together.
type Workspace interface {
	Workspace() string // a hash of the credential
	PerMinute() Rates  // what all of them together may do
}

// DefaultTimeout is the timeout of one request.
const DefaultTimeout = 5 * time.Second
