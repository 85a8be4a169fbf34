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
	"slackrelay/pipeline"
)

// web acts as Slack's Web API: every answer is 200 and JSON, with "ok" saying whether it went well.
func (s *Server) web(w http.ResponseWriter, r *http.Request) {
	methods := map[string]func(c slackCall) (map[string]any, error){
		"chat.postMessage": s.postMessage, "chat.update": s.updateMessage, "auth.test": s.authTest,
	}
	if r.PathValue("method") == "api.test" { // for who asks whether anybody is here: nothing is read for it
		s.writeJSON(w, r, http.StatusOK, map[string]any{"ok": true})
		return
	}
	call, known := methods[r.PathValue("method")]
	if !known {
		s.refuse(w, r, "", errorf(notFound, "the relay does not support this method of Slack's Web API"))
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

// webCall carries a method out for who has a credential of any channel. The channel stands in the body, and so may the
// token: then the body is read first, within the share of those who are not known, and only the token is looked for.
func (s *Server) webCall(w http.ResponseWriter, r *http.Request, call func(c slackCall) (map[string]any, error)) (map[string]any, slackCall, error) {
	c := newSlackCall(r)
	leave, err := s.enter(r)
	if err != nil {
		return nil, c, err
	}
	defer leave()
	h := s.hold(s.proxies.client(r))
	defer h.release()
	c.token = cmp.Or(bearer(r), r.URL.Query().Get("token"))
	channel, known := s.channelFor(c.attempt)
	switch {
	case known:
		err = h.known(channel)
	case bearer(r) != "" && !s.signed(): // it counts before one in the body
		err = errNoChannel
	}
	if err != nil {
		return nil, c, err
	}
	b, err := s.readWire(w, r, h)
	if err != nil {
		return nil, c, err
	}
	defer b.release()
	c.wire, c.unread = b.wire, false
	if err := s.unpack(r, b, h); err != nil {
		return nil, c, err
	}
	if bearer(r) == "" {
		c.token = cmp.Or(b.token(), c.token)
	}
	if !known {
		if channel, known = s.channelFor(c.attempt); !known {
			return nil, c, errNoChannel
		}
		if err := h.known(channel); err != nil {
			return nil, c, err
		}
	}
	if err := s.understand(&c, b, h); err != nil {
		return nil, c, err
	}
	answer, err := call(c)
	return answer, c, err
}

// errNoChannel is a token that is good for no channel.
var errNoChannel = errorf(unauthorized, "the token is not valid for any channel")

// channelFor is a channel that a sender has a credential of.
func (s *Server) channelFor(a attempt) (channel string, ok bool) {
	for _, ch := range s.opts.Channels {
		d, err := s.open(a.request, ch.Name)
		if err != nil {
			continue
		}
		if _, err := s.authenticate(d, ch.Name, slackSource, a); err == nil {
			return ch.Name, true
		}
	}
	return "", false
}

// signed tells whether a credential of any channel is a signature of the body.
func (s *Server) signed() bool {
	for _, d := range s.doors {
		if d.signed {
			return true
		}
	}
	return false
}

// sayTo takes a message in for a channel that a tool named.
func (s *Server) sayTo(c slackCall, channel string, as events.SlackMessage) (pipeline.Receipt, error) {
	d, err := s.open(c.request, channel)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	who, err := s.authenticate(d, channel, slackSource, c.attempt)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	return s.say(who, c, channel, as)
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
var errMessageNotFound = errorf(notFound, "message not found")

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
	if _, err := s.sayTo(c, channel, events.SlackMessage{TS: ts}); err != nil {
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
	receipt, err := s.sayTo(c, channel, events.SlackMessage{TS: ts, Update: true})
	if err != nil {
		return nil, err
	}
	if receipt.Dropped > 0 {
		return nil, errMessageNotFound
	}
	return map[string]any{"channel": c.field("channel"), "ts": ts, "text": c.field("text")}, nil
}

// authTest tells whether a token is good for any channel that takes messages from where the sender is; a channel that asks for
// none is good for everybody.
func (s *Server) authTest(c slackCall) (map[string]any, error) {
	user := ""
	for _, ch := range s.opts.Channels {
		d, err := s.open(c.request, ch.Name)
		if err != nil {
			continue
		}
		who, err := s.authenticate(d, ch.Name, slackSource, c.attempt)
		if err == nil && (user == "" || len(d.credentials) > 0) {
			user = who.name
		}
	}
	if user == "" {
		return nil, errNoChannel
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
