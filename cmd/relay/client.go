package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client calls one listener of a running relay.
type client struct {
	address string // base URL
	flag    string // that sets address, for errors
	token   string // "" = none
	user    string // for the audit log; "" = none
	timeout time.Duration
}

// call is one request and where its reply goes.
type call struct {
	method string // "" = GET
	path   string
	body   any // sent as JSON; nil = none
	reply  any // decoded from JSON
}

// do makes a call. A reply with an error status is a [*refusal] where it comes from a relay.
func (c client) do(ctx context.Context, request call) error {
	response, err := c.send(ctx, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(response, reply)
	}
	if err := json.Unmarshal(reply, request.reply); err != nil {
		return fmt.Errorf("read the reply: %w; does %s point to a relay?", err, c.flag)
	}
	return nil
}

// send makes a request and returns the response, whatever its status. The caller must close its body.
func (c client) send(ctx context.Context, request call) (*http.Response, error) {
	var body io.Reader
	if request.body != nil {
		encoded, err := json.Marshal(request.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	if u, err := url.Parse(c.address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("%s: %q is not a URL; write it like http://127.0.0.1:8080", c.flag, c.address)
	}
	r, err := http.NewRequestWithContext(ctx, request.method, strings.TrimSuffix(c.address, "/")+request.path, body)
	if err != nil {
		return nil, fmt.Errorf("call the relay: %w", err)
	}
	if request.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.user != "" {
		r.Header.Set("X-Relay-User", c.user)
	}
	httpClient := &http.Client{Timeout: c.timeout}
	response, err := httpClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the relay: %w; is one running there? start one with: relay serve", err)
	}
	return response, nil
}

// refusal is an error reply of a relay: its stable code, and a sentence.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

func refusalOf(response *http.Response, body []byte) error {
	var reply struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(body, &reply) == nil && reply.Error.Message != "" {
		return &refusal{reply.Error.Code, reply.Error.Message}
	}
	return fmt.Errorf("the reply was %s; is that a relay?", response.Status)
}

// baseURL is where a relay that listens on an address can be reached from this machine. The address was validated.
func baseURL(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	return "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
}
