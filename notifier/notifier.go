// Package notifier says events in Slack: it renders messages, posts and edits them by bot token or incoming
// webhook, looks up what may have been posted, and turns every answer into an error that says what to do next.
//
// All text of an event is untrusted: it is escaped once, here, and cut at Slack's sizes. Only this package and a
// channel's own templates write anything between "<" and ">". Secrets (tokens, webhook URLs) never appear in an
// error.
package notifier

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// Message is what is posted: a headline, and below it an attachment with the severity's colour.
type Message struct {
	Text     string        // the headline, mrkdwn; also what a phone shows in its notification
	Color    string        // "#rrggbb"
	Fallback string        // the attachment as plain text, for clients that show no blocks
	Blocks   []slack.Block // the attachment
	// Own takes the place of the attachment; nil = there is none.
	Own *Own `json:",omitempty"`
	// ID is the event's, and Entry this message's own; both are kept in its metadata, so that it can be looked up.
	// Webhooks keep none.
	ID, Entry string
	// Thread is the ts of the message that this one answers; "" = none.
	Thread string
}

func (m Message) attachment() slack.Attachment {
	return slack.Attachment{Color: m.Color, Fallback: m.Fallback, Blocks: slack.Blocks{BlockSet: m.Blocks}}
}

// PlainText is the message without anything that Slack could refuse: one text, cut at its size.
func (m Message) PlainText() Message {
	text := m.Text
	if m.Fallback != "" {
		text += "\n" + m.Fallback
	}
	return Message{Text: cutMarkup(strings.TrimPrefix(text, "\n"), maxText), ID: m.ID, Entry: m.Entry, Thread: m.Thread}
}

// Receipt says where a message ended up. An incoming webhook tells neither.
type Receipt struct {
	Channel string // Slack's channel id
	TS      string // Slack's name of the message, "1700000000.000100"
}

// Sender posts messages to one destination. Every error is an [*Error], which says what to do next.
type Sender interface {
	Send(ctx context.Context, m Message) (Receipt, error)
}

// Editor is a Sender that can change what it posted.
type Editor interface {
	Sender
	// Edit puts a message in the place of one that was posted.
	Edit(ctx context.Context, at Receipt, m Message) error
}

// Finder is a Sender that can look up what it posted.
type Finder interface {
	Sender
	// Find looks for a message by its entry in the metadata, a page of Slack's history at a time.
	Find(ctx context.Context, q Query) (Page, error)
	// Findable tells whether it can look at all: Slack's id of the channel must be known.
	Findable() bool
}

// Query says what to look for.
type Query struct {
	Entry  string    // of the message
	Since  time.Time // it was posted no earlier
	Thread string    // the ts of the message that it answers; "" = none
	Cursor string    // of the page before; "" = the first page
}

// Page is the outcome of looking at one page.
type Page struct {
	Found  bool
	At     Receipt // where it is, if it was found
	Cursor string  // of the next page; "" = there is none
}

// Workspace is a Sender whose credential is shared with others; what Slack allows is for all of them together.
type Workspace interface {
	Workspace() string // a hash of the credential
}

// DefaultTimeout bounds one request to Slack.
const DefaultTimeout = 5 * time.Second

// httpClient makes a client for Slack: bounded, following no redirect, and with every 429's Retry-After
// in whole seconds. A timeout of 0 means DefaultTimeout.
func httpClient(timeout time.Duration) *http.Client {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &http.Client{
		Timeout:       timeout,
		Transport:     retryAfterTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
