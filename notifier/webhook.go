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
	Text        string              `json:"text"`
	Attachments []webhookAttachment `json:"attachments"`
	UnfurlLinks bool                `json:"unfurl_links"`
	UnfurlMedia bool                `json:"unfurl_media"`
}

type webhookAttachment struct {
	Color    string        `json:"color,omitempty"`
	Fallback string        `json:"fallback,omitempty"`
	Blocks   []slack.Block `json:"blocks,omitempty"`
}

// Send implements [Sender]. The receipt is empty: a webhook does not say where its message went.
func (w *Webhook) Send(ctx context.Context, m Message) (Receipt, error) {
	body, err := json.Marshal(webhookBody{
		Text:        m.Text,
		Attachments: []webhookAttachment{{Color: m.Color, Fallback: m.Fallback, Blocks: m.Blocks}},
	})
	if err != nil {
		return Receipt{}, &Error{Action: GiveUp, Reason: Undecodable, Answer: err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return Receipt{}, transportError(err)
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := w.client.Do(request)
	if err != nil {
		return Receipt{}, transportError(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return Receipt{}, transportError(err)
	}
	return Receipt{}, webhookError(response, strings.TrimSpace(string(answer)))
}

// webhookError reads an answer: by its body first, since Slack documents few of the statuses.
func webhookError(response *http.Response, answer string) error {
	if response.StatusCode == http.StatusOK && answer == "ok" {
		return nil
	}
	if response.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // written by retryAfterTransport
		return &Error{Action: Wait, Reason: RateLimited, After: time.Duration(seconds) * time.Second, Answer: "429"}
	}
	if _, known := codes[answer]; known {
		return codeError(answer, answer)
	}
	return statusError(response.StatusCode, brief(answer))
}

// brief keeps the start of an answer that may be a whole page.
func brief(answer string) string {
	const enough = 200
	if len(answer) > enough {
		return strings.ToValidUTF8(answer[:enough], "") + "…"
	}
	return answer
}
