// Package notifier says an event in Slack: it renders the message, sends it by bot token or incoming
// webhook, and turns every answer into an error that says what to do next.
//
// All text of an event is untrusted: it is escaped once, here, and cut at Slack's sizes. Only this package
// writes anything between "<" and ">". Secrets (tokens, webhook URLs) never appear in an error.
package notifier

import (
	"context"
	"net/http"
	"time"

	"github.com/slack-go/slack"
)

// Message is what is posted: a headline, and below it an attachment with the severity's colour.
type Message struct {
	Text     string        // the headline, mrkdwn; also what a phone shows in its notification
	Color    string        // "#rrggbb"
	Fallback string        // the attachment as plain text, for clients that show no blocks
	Blocks   []slack.Block // the attachment
}

func (m Message) attachment() slack.Attachment {
	return slack.Attachment{Color: m.Color, Fallback: m.Fallback, Blocks: slack.Blocks{BlockSet: m.Blocks}}
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
