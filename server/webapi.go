package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"slackrelay/events"
)

// web acts as Slack's Web API: every answer is 200 and JSON, with "ok" saying whether it went well.
func (s *Server) web(w http.ResponseWriter, r *http.Request) {
	methods := map[string]func(c slackCall) (map[string]any, error){
		"chat.postMessage": s.postMessage, "chat.update": s.updateMessage, "auth.test": s.authTest,
		"api.test": func(slackCall) (map[string]any, error) { return map[string]any{}, nil },
	}
	call, known := methods[r.PathValue("method")]
	if !known {
		s.refuse(w, r, "", errorf(notFound, "Slack's Web API has no such method here"))
		s.writeJSON(w, r, http.StatusOK, map[string]any{"ok": false, "error": "unknown_method"})
		return
	}
	answer, c, err := s.webCall(w, r, call)
	if err == nil {
		answer["ok"] = true
		s.writeJSON(w, r, http.StatusOK, answer)
		return
	}
	s.refuse(w, r, s.channelOf(c.channel()), err)
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
var errMessageNotFound = errorf(notFound, "there is no such message")

// channel is what the sender calls the channel, "" where nothing was read.
func (c slackCall) channel() string {
	if c.request == nil {
		return ""
	}
	return c.field("channel")
}

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

// authTest tells whether a token is good for any channel; a channel that asks for none is good for everybody.
func (s *Server) authTest(c slackCall) (map[string]any, error) {
	user := ""
	for _, ch := range s.opts.Channels {
		d := s.doors[ch.Name]
		who, err := s.authenticate(d, ch.Name, slackSource, c.attempt)
		if err == nil && (user == "" || len(d.credentials) > 0) {
			user = who.name
		}
	}
	if user == "" {
		return nil, errorf(unauthorized, "the token is good for no channel")
	}
	return map[string]any{
		"url": "https://relay.invalid/", "team": "relay", "user": user, "team_id": "T00000000", "user_id": "U00000000", "bot_id": "B00000000",
	}, nil
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
