package notifier

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Hook posts plain JSON to any URL: {"text": "..."} and what else a message has to say. It is where the operators
// of the relay are told, outside of Slack too.
type Hook struct {
	client *http.Client
	url    string
}

var _ Sender = (*Hook)(nil)

// NewHook makes a Hook.
func NewHook(url string, timeout time.Duration) *Hook {
	return &Hook{client: httpClient(timeout), url: url}
}

// Send implements [Sender]. Every answer of 2xx is a success.
func (h *Hook) Send(ctx context.Context, m Message) (Receipt, error) {
	body, err := json.Marshal(map[string]string{"text": m.PlainText().Text, "id": m.ID, "source": "relay"})
	if err != nil {
		return Receipt{}, &Error{Action: GiveUp, Reason: Undecodable, Answer: err.Error()}
	}
	said, err := post(ctx, h.client, h.url, body)
	if err != nil {
		return Receipt{}, err
	}
	if said.status >= http.StatusOK && said.status < http.StatusMultipleChoices {
		return Receipt{}, nil
	}
	return Receipt{}, said.webhookError()
}
