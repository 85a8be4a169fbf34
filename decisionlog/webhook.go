package decisionlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// postTimeout bounds one request to a webhook.
const postTimeout = 10 * time.Second

// Webhook is a sink that posts lines to a URL, as application/x-ndjson. It follows no redirect: that would send the header to another
// server.
type Webhook struct {
	url    string
	header http.Header
	client *http.Client
}

// NewWebhook returns a sink that posts to address. header is sent with each request; it may contain a secret.
func NewWebhook(address string, header http.Header) *Webhook {
	return &Webhook{url: address, header: header, client: &http.Client{
		Timeout:       postTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// statusError is an answer that is no success.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("the webhook answered %d %s", int(e), http.StatusText(int(e)))
}

// Write implements [io.Writer]: all lines are stored, or none counts as stored.
func (w *Webhook) Write(lines []byte) (int, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, w.url, bytes.NewReader(lines))
	if err != nil {
		return 0, withoutURL(err)
	}
	maps.Copy(request.Header, w.header)
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := w.client.Do(request)
	if err != nil {
		return 0, withoutURL(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return 0, statusError(response.StatusCode)
	}
	return len(lines), nil
}

// Refuses reports whether an error is an answer that the same lines get again.
func (*Webhook) Refuses(err error) bool {
	status, ok := errors.AsType[statusError](err)
	return ok && slices.Contains([]statusError{
		http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
	}, status)
}

// withoutURL returns an error without the address, which may contain a secret.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("post the decision log: %w", err)
}
