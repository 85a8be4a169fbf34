package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// maxAnswer is how much of an answer is read: real ones are one word.
const maxAnswer = 4096

// WebhookOptions configure a Webhook.
type WebhookOptions struct {
	URL     string        // the incoming webhook; a secret
	Timeout time.Duration // bounds one request. Default 5 s.
}

// Webhook posts to an incoming webhook. It makes its own request because slack-go discards the body, which
// is what tells a revoked webhook from a bad message.
type Webhook struct {
	client *http.Client
	url    string
}

var _ Sender = (*Webhook)(nil)

// NewWebhook makes a Webhook.
func NewWebhook(opts WebhookOptions) *Webhook {
	return &Webhook{client: httpClient(opts.Timeout), url: opts.URL}
}

// webhookBody is the body of a post to an incoming webhook.
type webhookBody struct {
	Text        string          `json:"text"`
	Blocks      json.RawMessage `json:"blocks,omitempty"`
	Attachments any             `json:"attachments,omitempty"`
	UnfurlLinks bool            `json:"unfurl_links"`
	UnfurlMedia bool            `json:"unfurl_media"`
}

type webhookAttachment struct {
	Color    string        `json:"color,omitempty"`
	Fallback string        `json:"fallback,omitempty"`
	Blocks   []slack.Block `json:"blocks,omitempty"`
}

// Send implements [Sender]. The receipt is empty: a webhook does not say where its message went.
func (w *Webhook) Send(ctx context.Context, m Message) (Receipt, error) {
	content := webhookBody{Text: m.Text}
	switch {
	case m.Own != nil:
		content.Blocks = m.Own.Blocks
		if m.Own.Attachments != nil {
			content.Attachments = m.Own.Attachments
		}
	case len(m.Blocks) > 0 || m.Fallback != "":
		content.Attachments = []webhookAttachment{{Color: m.Color, Fallback: m.Fallback, Blocks: m.Blocks}}
	}
	body, err := json.Marshal(content)
	if err != nil {
		return Receipt{}, &Error{Action: GiveUp, Reason: Undecodable, Answer: err.Error()}
	}
	said, err := post(ctx, w.client, w.url, body)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{}, said.webhookError()
}

// reply is an answer over HTTP.
type reply struct {
	status     int
	retryAfter string
	body       string
}

// post posts JSON to a URL that is a secret, and reads the answer.
func post(ctx context.Context, client *http.Client, url string, body []byte) (reply, error) {
	ctx, sent := traced(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return reply{}, transportError(err, false)
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := client.Do(request)
	if err != nil {
		return reply{}, transportError(err, sent.Load())
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return reply{}, transportError(err, true)
	}
	return reply{response.StatusCode, response.Header.Get("Retry-After"), strings.TrimSpace(string(said))}, nil
}

// webhookError reads an answer: by its body first, since Slack documents few of the statuses.
func (r reply) webhookError() error {
	if r.status == http.StatusOK && r.body == "ok" {
		return nil
	}
	if r.status == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(r.retryAfter) // written by retryAfterTransport
		return &Error{Action: Wait, Reason: RateLimited, After: time.Duration(seconds) * time.Second, Answer: "429"}
	}
	if _, known := codes[r.body]; known {
		return codeError(r.body, r.body)
	}
	return statusError(r.status, brief(r.body))
}

// brief keeps the start of an answer that may be a whole page.
func brief(answer string) string {
	const enough = 200
	if len(answer) > enough {
		return strings.ToValidUTF8(answer[:enough], "") + "…"
	}
	return answer
}
