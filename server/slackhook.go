package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// For tools that can only speak to Slack: an incoming webhook, and the methods of the Web API that they call. They are
// answered as Slack would, letter for letter; what the limits drop is a success for them.

// slackSource is the body format of such tools.
const slackSource = "slack"

// services acts as an incoming webhook, /services/{channel}/{token}. Its answers are plain text without a newline, since
// senders compare them with "ok".
func (s *Server) services(w http.ResponseWriter, r *http.Request) {
	status, said := http.StatusOK, "ok"
	if err := s.service(w, r); err != nil {
		status, said = slackRefusal(err)
		s.refuse(w, r, r.PathValue("channel"), err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", fmt.Sprint(retryAfterSeconds))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write([]byte(said))
}

func (s *Server) service(w http.ResponseWriter, r *http.Request) error {
	leave, err := s.enterByPost(w, r)
	if err != nil {
		return err
	}
	defer leave()
	call, err := s.slackCall(w, r)
	if err != nil {
		return err
	}
	path := r.PathValue("token") // the secret is the last part, as Slack's is; Jenkins has it in the query
	call.token = cmp.Or(path[strings.LastIndexByte(path, '/')+1:], r.URL.Query().Get("token"))
	_, err = s.say(r, call, r.PathValue("channel"), events.SlackMessage{})
	return err
}

// slackRefusal is how an incoming webhook of Slack refuses.
func slackRefusal(err error) (status int, said string) {
	reply := replyTo(err)
	switch {
	case errors.Is(err, errNoText):
		return http.StatusBadRequest, "no_text"
	case reply.Code == unknownChannel:
		return http.StatusNotFound, "channel_not_found"
	case reply.Code == unauthorized:
		return http.StatusForbidden, "invalid_token"
	case reply.Code == forbidden:
		return http.StatusForbidden, "action_prohibited"
	case reply.Code == unavailable:
		return http.StatusServiceUnavailable, "service_unavailable"
	case statuses[reply.Code] == http.StatusInternalServerError:
		return http.StatusInternalServerError, "rollup_error"
	case statuses[reply.Code] == http.StatusRequestEntityTooLarge, statuses[reply.Code] == http.StatusMethodNotAllowed:
		return statuses[reply.Code], "invalid_payload"
	default:
		return http.StatusBadRequest, "invalid_payload"
	}
}

// errNoText is a message that says nothing.
var errNoText = errors.New("no text")

// slackCall is a request of a tool that speaks Slack.
type slackCall struct {
	attempt
	fields map[string]json.RawMessage
	plain  []byte
}

// field is a field of the body, of a form or of the address.
func (c slackCall) field(name string) string {
	var text string
	if json.Unmarshal(c.fields[name], &text) == nil && text != "" {
		return text
	}
	return c.request.URL.Query().Get(name)
}

// slackCall reads a request whatever its Content-Type says: JSON, a form with the JSON in "payload", or a form with the
// fields themselves.
func (s *Server) slackCall(w http.ResponseWriter, r *http.Request) (slackCall, error) {
	c := slackCall{attempt: attempt{request: r, now: time.Now()}}
	if _, _, err := mediaType(r); err != nil {
		r.Header.Del("Content-Type")
	}
	b, err := s.readBody(w, r)
	if err != nil {
		return c, err
	}
	c.wire, c.plain = b.wire, b.plain
	if len(b.plain) > 0 && json.Unmarshal(b.plain, &c.fields) != nil {
		return c, errorf(events.BadJSON, "the body is no JSON object")
	}
	return c, nil
}

// say takes a message in. as says by what name the sender will know it, and what it answers or replaces.
func (s *Server) say(r *http.Request, c slackCall, channel string, as events.SlackMessage) (pipeline.Receipt, error) {
	d, err := s.open(r, channel)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	who, err := s.authenticate(d, channel, slackSource, c.attempt)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	all, err := s.opts.Decoder.Decode(events.Webhook{Source: slackSource, Category: r.URL.Query().Get("category"), Header: r.Header, Body: c.plain})
	if input, ok := errors.AsType[*events.InputError](err); ok && (input.Code == events.BadField || input.Code == events.EmptyBody) {
		return pipeline.Receipt{}, fmt.Errorf("%w: %w", errNoText, err)
	}
	if err != nil {
		return pipeline.Receipt{}, err
	}
	named(all, who.name)
	for i := range all {
		all[i].Slack.TS, all[i].Slack.Update = as.TS, as.Update
	}
	return s.take(r, arrived{channel: channel, sender: who.name, events: all})
}
