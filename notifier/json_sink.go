package notifier

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// JSONSink posts messages as JSON to any URL: {"text": "...", "id": "...", "source": "relay"}. It delivers the relay's own
// notices outside of Slack.
type JSONSink struct {
	client *http.Client
	url    string
}

var _ Sender = (*JSONSink)(nil)

// NewJSONSink returns a JSONSink. A timeout of 0 means [DefaultTimeout].
func NewJSONSink(url string, timeout time.Duration) *JSONSink {
	return &JSONSink{client: httpClient(timeout), url: url}
}

// Send implements [Sender]. Every status 2xx is a success.
func (s *JSONSink) Send(ctx context.Context, m Message) (Receipt, error) {
	body, err := json.Marshal(map[string]string{"text": m.PlainText().Text, "id": m.ID, "source": "relay"})
	if err != nil {
		return Receipt{}, &Error{Action: GiveUp, Reason: Undecodable, Answer: err.Error()}
	}
	answer, err := post(ctx, s.client, s.url, body)
	if err != nil {
		return Receipt{}, err
	}
	if answer.status >= http.StatusOK && answer.status < http.StatusMultipleChoices {
		return Receipt{}, nil
	}
	return Receipt{}, answer.webhookError()
}
