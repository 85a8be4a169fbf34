package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// maxAnswer is how much of an answer is read, in bytes: Slack's own answers are one word.
const maxAnswer = 4096

// IncomingWebhook posts through an incoming webhook of Slack, or of another server that takes its format; to Mattermost and
// Rocket.Chat ([IsChatServer]), it posts Markdown. It does not use slack-go, which discards the body of the answer: only the body
// distinguishes a revoked webhook from a bad message.
type IncomingWebhook struct {
	client *http.Client
	url    string
	chat   bool // Mattermost or Rocket.Chat
}

var _ Sender = (*IncomingWebhook)(nil)

// NewIncomingWebhook returns an IncomingWebhook. The URL is a secret. A timeout of 0 means [DefaultTimeout].
func NewIncomingWebhook(address string, timeout time.Duration) *IncomingWebhook {
	return &IncomingWebhook{client: httpClient(timeout), url: address, chat: IsChatServer(address)}
}

// webhookBody is the body of a request to an incoming webhook.
type webhookBody struct {
	Text        string `json:"text"`
	Blocks      any    `json:"blocks,omitempty"`
	Attachments any    `json:"attachments,omitempty"`
	UnfurlLinks bool   `json:"unfurl_links"`
	UnfurlMedia bool   `json:"unfurl_media"`
}

// Send implements [Sender]. The receipt is empty: Slack does not return where the message is.
func (w *IncomingWebhook) Send(ctx context.Context, m Message) (Receipt, error) {
	var content any = slackBodyOf(m)
	if w.chat {
		content = chatBodyOf(m)
	}
	body, err := json.Marshal(content)
	if err != nil {
		return Receipt{}, &Error{Action: GiveUp, Reason: Undecodable, Answer: err.Error()}
	}
	answer, err := post(ctx, w.client, w.url, body)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{}, answer.webhookError()
}

// slackBodyOf returns a message for Slack.
func slackBodyOf(m Message) webhookBody {
	content := webhookBody{Text: m.Text}
	switch {
	case m.Native != nil:
		if m.Native.Blocks != nil {
			content.Blocks = m.Native.Blocks
		}
		if m.Native.Attachments != nil {
			content.Attachments = m.Native.Attachments
		}
	case m.Wide:
		content.Blocks = m.Blocks
	case len(m.Blocks) > 0 || m.Fallback != "":
		content.Attachments = []slack.Attachment{m.attachment()}
	}
	return content
}

// minSecret is the length of the shortest part of an address that counts as a secret.
const minSecret = 10

// withoutSecrets removes the parts of a webhook's path, and what its query contains, from an answer: Mattermost repeats the
// webhook's id, which is its secret.
func withoutSecrets(answer, webhook string) string {
	u, err := url.Parse(webhook)
	if err != nil {
		return answer
	}
	parts := append(strings.Split(u.Path, "/"), u.RawQuery)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for _, part := range parts {
		if len(part) >= minSecret {
			answer = strings.ReplaceAll(answer, part, "…")
		}
	}
	return answer
}

// reply is an HTTP response.
type reply struct {
	status     int
	retryAfter string
	body       string
}

// post sends JSON to a secret URL and reads the answer. The answer does not contain the secret.
func post(ctx context.Context, client *http.Client, address string, body []byte) (reply, error) {
	ctx, sent := traceSent(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return reply{}, transportError(err, false)
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := client.Do(request)
	if err != nil {
		return reply{}, transportError(err, sent.Load())
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return reply{}, transportError(err, true)
	}
	return reply{response.StatusCode, response.Header.Get("Retry-After"), withoutSecrets(strings.TrimSpace(string(answer)), address)}, nil
}

// webhookError returns the error of an answer, nil for a success. The body decides, since Slack documents few of the statuses.
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
	if failure, known := r.chatError(); known {
		if failure == nil { // not as an error that is a nil pointer
			return nil
		}
		return failure
	}
	return statusError(r.status, truncateAnswer(r.body))
}

// truncateAnswer returns the beginning of an answer, which may be a whole page.
func truncateAnswer(answer string) string {
	const enough = 200
	if len(answer) > enough {
		return strings.ToValidUTF8(answer[:enough], "") + "…"
	}
	return answer
}
