package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"slackrelay/notifier/fakeslack"
)

// slackToken is the bot token of the relays. The fake Slack accepts any.
const slackToken = "xoxb-scale" //nolint:gosec // no real one

// slack is a fake Slack that reports what arrives.
type slack struct {
	*fakeslack.Server
	posts atomic.Int64 // requests to post
	delay atomic.Int64 // nanoseconds before each answer
	// refusal is the answer to each post; nil or the zero value = it is posted.
	refusal atomic.Pointer[fakeslack.Reply]

	mu       sync.Mutex
	arrivals map[string]chan time.Time // by channel of Slack
}

func startSlack() (*slack, error) {
	server, err := fakeslack.Start()
	if err != nil {
		return nil, err
	}
	s := &slack{Server: server, arrivals: map[string]chan time.Time{}}
	server.Break(s.arrived)
	return s, nil
}

// arrived is called with each request.
func (s *slack) arrived(method, channel string) (fakeslack.Reply, bool) {
	now := time.Now()
	if method == "chat.postMessage" {
		s.posts.Add(1)
		s.mu.Lock()
		waiting := s.arrivals[channel]
		s.mu.Unlock()
		select {
		case waiting <- now:
		default: // nobody waits for it
		}
	}
	if refusal := s.refusal.Load(); refusal != nil && *refusal != (fakeslack.Reply{}) {
		return *refusal, true
	}
	delay := time.Duration(s.delay.Load())
	return fakeslack.Reply{Delay: delay}, delay > 0
}

// expect returns a channel that gets when the next post to a channel of Slack arrived.
func (s *slack) expect(channel string) <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrival := make(chan time.Time, 1)
	s.arrivals[channel] = arrival
	return arrival
}

// client is for all requests but those of the load.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func get(ctx context.Context, url string) (status int, body []byte, err error) {
	return request(ctx, http.MethodGet, url, nil)
}

func request(ctx context.Context, method, url string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("request: %w", err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// errRefused is a webhook that was answered, but not accepted.
var errRefused = errors.New("refused")

// post posts a webhook, which must be accepted, and returns the receipt.
func (r *relay) post(ctx context.Context, hook string, body []byte) ([]byte, error) {
	status, answer, err := request(ctx, http.MethodPost, r.public+"/hooks/"+hook, body)
	if err != nil {
		return nil, err
	}
	if status != http.StatusAccepted {
		return nil, fmt.Errorf("webhook for %s: %w: %d %s", hook, errRefused, status, answer)
	}
	return answer, nil
}
