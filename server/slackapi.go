package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
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
		s.logFailure(r, err)
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
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return errorf(methodNotAllowed, "webhooks are taken by POST, not by %s", r.Method)
	}
	leave, err := s.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	call, err := s.slackCall(w, r)
	if err != nil {
		return err
	}
	call.token = r.PathValue("token")
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

// web acts as Slack's Web API: every answer is 200 and JSON, with "ok" saying whether it went well.
func (s *Server) web(w http.ResponseWriter, r *http.Request) {
	methods := map[string]func(c slackCall) (map[string]any, error){
		"chat.postMessage": s.postMessage, "chat.update": s.updateMessage, "auth.test": s.authTest,
		"api.test": func(slackCall) (map[string]any, error) { return map[string]any{}, nil },
	}
	call, known := methods[r.PathValue("method")]
	if !known {
		s.writeJSON(w, r, http.StatusOK, map[string]any{"ok": false, "error": "unknown_method"})
		return
	}
	answer, c, err := s.webCall(w, r, call)
	if err == nil {
		answer["ok"] = true
		s.writeJSON(w, r, http.StatusOK, answer)
		return
	}
	s.logFailure(r, err)
	if replyTo(err).Code == unavailable { // senders try again after a 503
		w.Header().Set("Retry-After", fmt.Sprint(retryAfterSeconds))
		s.writeJSON(w, r, http.StatusServiceUnavailable, map[string]any{"ok": false, "error": "service_unavailable"})
		return
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"ok": false, "error": webRefusal(err, c)})
}

// webCall carries a method out.
func (s *Server) webCall(w http.ResponseWriter, r *http.Request, call func(c slackCall) (map[string]any, error)) (map[string]any, slackCall, error) {
	leave, err := s.enter(r)
	if err != nil {
		return nil, slackCall{}, err
	}
	defer leave()
	c, err := s.slackCall(w, r)
	if err != nil {
		return nil, c, err
	}
	c.token = cmp.Or(bearer(r), c.field("token"))
	answer, err := call(c)
	return answer, c, err
}

// webRefusal is the error code of Slack's Web API.
func webRefusal(err error, c slackCall) string {
	switch reply := replyTo(err); {
	case errors.Is(err, errNoText):
		return "no_text"
	case errors.Is(err, errMessageNotFound):
		return "message_not_found"
	case reply.Code == unknownChannel:
		return "channel_not_found"
	case reply.Code == unauthorized && c.token == "":
		return "not_authed"
	case reply.Code == unauthorized:
		return "invalid_auth"
	case reply.Code == forbidden:
		return "access_denied"
	case reply.Code == bodyTooLarge:
		return "msg_too_long"
	case reply.Code == internal:
		return "internal_error"
	default:
		return "invalid_json"
	}
}

// errMessageNotFound is an update of a message that never got through, or is forgotten.
var errMessageNotFound = errors.New("there is no such message")

// channelOf finds the channel that a tool means: by the relay's name for it, or by Slack's.
func (s *Server) channelOf(name string) string {
	name = strings.TrimPrefix(name, "#")
	if _, ok := s.doors[name]; ok {
		return name
	}
	return s.bySlackName[name]
}

func (s *Server) postMessage(c slackCall) (map[string]any, error) {
	channel, ts := s.channelOf(c.field("channel")), s.minted.next(c.now)
	if channel == "" {
		return nil, errorf(unknownChannel, "no channel is called %q", c.field("channel"))
	}
	if _, err := s.say(c.request, c, channel, events.SlackMessage{TS: ts}); err != nil {
		return nil, err
	}
	return map[string]any{
		"channel": c.field("channel"), "ts": ts, "message": map[string]string{"type": "message", "text": c.field("text"), "ts": ts},
	}, nil
}

func (s *Server) updateMessage(c slackCall) (map[string]any, error) {
	channel, ts := s.channelOf(c.field("channel")), c.field("ts")
	if channel == "" {
		return nil, errorf(unknownChannel, "no channel is called %q", c.field("channel"))
	}
	if ts == "" {
		return nil, errMessageNotFound
	}
	receipt, err := s.say(c.request, c, channel, events.SlackMessage{TS: ts, Update: true})
	if err != nil {
		return nil, err
	}
	if receipt.Dropped > 0 {
		return nil, errMessageNotFound
	}
	return map[string]any{"channel": c.field("channel"), "ts": ts, "text": c.field("text")}, nil
}

// authTest tells whether a token is good for any channel.
func (s *Server) authTest(c slackCall) (map[string]any, error) {
	for name, d := range s.doors {
		if who, err := s.authenticate(d, name, slackSource, c.attempt); err == nil {
			return map[string]any{
				"url": "https://relay.invalid/", "team": "relay", "user": who.name, "team_id": "T00000000", "user_id": "U00000000", "bot_id": "B00000000",
			}, nil
		}
	}
	return nil, errorf(unauthorized, "the token is good for no channel")
}

// minter gives messages names as Slack does: the time in seconds and microseconds, no two the same.
type minter struct{ last atomic.Int64 }

func (m *minter) next(now time.Time) string {
	for {
		last := m.last.Load()
		at := max(now.UnixMicro(), last+1)
		if m.last.CompareAndSwap(last, at) {
			return fmt.Sprintf("%d.%06d", at/1_000_000, at%1_000_000)
		}
	}
}
