package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// slackMethods are the supported methods of Slack's Web API.
var slackMethods = map[string]func(s *Server, c *slackCall) (map[string]any, error){
	"chat.postMessage": (*Server).postMessage,
	"chat.update":      (*Server).updateMessage,
	"auth.test":        (*Server).authTest,
}

// slackAPI serves /api/{method}, as Slack's Web API: the status is 200, and "ok" in the reply is whether the call succeeded.
func (s *Server) slackAPI(in *ingestRequest) error {
	in.source = slackSource
	reply := map[string]any{}
	if name := in.r.PathValue("method"); name != "api.test" { // api.test needs no credential and no body
		method, ok := slackMethods[name]
		if !ok {
			return errUnknownMethod
		}
		call := &slackCall{ingestRequest: in}
		var err error
		if reply, err = s.callSlackMethod(call, method); err != nil {
			return &slackAPIError{error: err, channel: s.channelOf(call.field("channel")), anonymous: in.token == ""}
		}
	}
	reply["ok"] = true
	s.writeJSON(in.w, in.r, http.StatusOK, reply)
	return nil
}

// callSlackMethod calls a method for a sender that has a credential of any channel. The channel is in the body, and so may be the
// token: then the body is read first, within the share of unauthenticated requests, and only the token is looked for.
func (s *Server) callSlackMethod(c *slackCall, method func(s *Server, c *slackCall) (map[string]any, error)) (map[string]any, error) {
	c.acceptAnyMediaType()
	headerToken := bearer(c.r)
	c.token = cmp.Or(headerToken, c.r.URL.Query().Get("token"))
	channel, authenticated := s.findChannel(c.ingestRequest)
	if authenticated {
		if err := c.reserved.authenticated(channel); err != nil {
			return nil, err
		}
	} else if headerToken != "" && !s.acceptsSignatures() { // it takes precedence over a token in the body
		return nil, errInvalidToken
	}
	if err := s.readBody(c.ingestRequest); err != nil {
		return nil, err
	}
	if err := s.decompress(c.ingestRequest); err != nil {
		return nil, err
	}
	if headerToken == "" {
		c.token = cmp.Or(c.body.token(), c.token)
	}
	if !authenticated {
		if channel, authenticated = s.findChannel(c.ingestRequest); !authenticated {
			return nil, errInvalidToken
		}
		if err := c.reserved.authenticated(channel); err != nil {
			return nil, err
		}
	}
	if err := s.parseSlackCall(c); err != nil {
		return nil, err
	}
	return method(s, c)
}

// findChannel returns a channel that the sender has a credential of.
func (s *Server) findChannel(in *ingestRequest) (channel string, ok bool) {
	for _, channel := range s.candidates(in) {
		if _, _, err := s.authenticateTo(in, channel); err == nil {
			return channel, true
		}
	}
	return "", false
}

// candidates returns the channels that may accept a sender: those of its tokens, those with credentials that are no tokens, and
// those that need none. All other channels would refuse it.
func (s *Server) candidates(in *ingestRequest) []string {
	all := slices.Clone(s.byToken[digest(in.token)])
	if query := in.r.URL.Query().Get("token"); query != in.token {
		all = append(all, s.byToken[digest(query)]...)
	}
	return slices.Concat(all, s.otherwise, s.open)
}

// authenticateTo checks the address and the credential of a sender for one channel.
func (s *Server) authenticateTo(in *ingestRequest, channel string) (sender, ingress, error) {
	entry, err := s.ingressOf(in, channel)
	if err != nil {
		return sender{}, ingress{}, err
	}
	from, err := s.authenticate(in, entry)
	return from, entry, err
}

// acceptsSignatures reports whether a credential of any channel signs the body.
func (s *Server) acceptsSignatures() bool {
	return slices.ContainsFunc(s.otherwise, func(channel string) bool { return s.ingresses[channel].signed })
}

// Errors of calls of the Web API.
var (
	errInvalidToken    = errorf(unauthorized, "the token is not valid for any channel")
	errUnknownMethod   = errorf(notFound, "the relay does not support this method of Slack's Web API")
	errMessageNotFound = errorf(notFound, "message not found") // an update of a message that was dropped or is forgotten
)

// slackAPIError is an error of a call, with what the reply and the log need besides.
type slackAPIError struct {
	error

	channel   string // that the call names; "" = none that exists
	anonymous bool   // the sender presented no token
}

func (e *slackAPIError) Unwrap() error { return e.error }

// writeSlackAPIError replies to an error as Slack's Web API, and counts and logs it.
func (s *Server) writeSlackAPIError(w http.ResponseWriter, r *http.Request, err error) {
	channel := ""
	anonymous := false
	if call, ok := errors.AsType[*slackAPIError](err); ok {
		channel = call.channel
		anonymous = call.anonymous
		err = call.error
	}
	s.refuse(w, r, channel, err)
	code := replyTo(err).Code
	status := http.StatusOK
	if code == unavailable { // senders retry after a 503
		w.Header().Set("Retry-After", fmt.Sprint(retryAfterSeconds))
		status = http.StatusServiceUnavailable
	}
	apiError := failures[code].apiError
	switch {
	case errors.Is(err, errNoText):
		apiError = "no_text"
	case errors.Is(err, errMessageNotFound):
		apiError = "message_not_found"
	case errors.Is(err, errUnknownMethod):
		apiError = "unknown_method"
	case code == unauthorized && anonymous:
		apiError = "not_authed"
	}
	s.writeJSON(w, r, status, map[string]any{"ok": false, "error": apiError})
}

// channelOf returns the channel that a tool names, by the relay's name or by Slack's; "" = there is none.
func (s *Server) channelOf(name string) string {
	name = strings.TrimPrefix(name, "#")
	if _, ok := s.ingresses[name]; ok {
		return name
	}
	return s.bySlackName[name]
}

// sendSlackMessage passes a message to the intake for the channel that the call names.
func (s *Server) sendSlackMessage(c *slackCall, named events.SlackMessage) (pipeline.Receipt, error) {
	channel := s.channelOf(c.field("channel"))
	if channel == "" {
		return pipeline.Receipt{}, errUnknownChannel(c.field("channel"))
	}
	if named.TS == "" {
		return pipeline.Receipt{}, errMessageNotFound
	}
	from, _, err := s.authenticateTo(c.ingestRequest, channel)
	if err != nil {
		return pipeline.Receipt{}, err
	}
	return s.submitSlackMessage(c, from, named)
}

func (s *Server) postMessage(c *slackCall) (map[string]any, error) {
	ts := s.timestamps.next(c.now)
	if _, err := s.sendSlackMessage(c, events.SlackMessage{TS: ts}); err != nil {
		return nil, err
	}
	message := map[string]string{"type": "message", "text": c.field("text"), "ts": ts}
	return map[string]any{"channel": c.field("channel"), "ts": ts, "message": message}, nil
}

func (s *Server) updateMessage(c *slackCall) (map[string]any, error) {
	ts := c.field("ts")
	receipt, err := s.sendSlackMessage(c, events.SlackMessage{TS: ts, Update: true})
	if err != nil {
		return nil, err
	}
	if receipt.Dropped > 0 {
		return nil, errMessageNotFound
	}
	return map[string]any{"channel": c.field("channel"), "ts": ts, "text": c.field("text")}, nil
}

// authTest succeeds if the token is valid for any channel that accepts the sender's address. Without a token, a channel that
// needs none is enough.
func (s *Server) authTest(c *slackCall) (map[string]any, error) {
	user := ""
	for _, channel := range s.candidates(c.ingestRequest) {
		from, entry, err := s.authenticateTo(c.ingestRequest, channel)
		if err == nil && (user == "" || len(entry.credentials) > 0) {
			user = from.name
		}
	}
	if user == "" {
		return nil, errInvalidToken
	}
	return map[string]any{
		"url": "https://relay.invalid/", "team": "relay", "user": user, "team_id": "T00000000", "user_id": "U00000000", "bot_id": "B00000000",
	}, nil
}

// tsGenerator generates the names of messages as Slack does: the time in seconds and microseconds, no two the same.
type tsGenerator struct{ last atomic.Int64 }

func (g *tsGenerator) next(now time.Time) string {
	at := g.micros(now)
	return fmt.Sprintf("%d.%06d", at/1_000_000, at%1_000_000)
}

// micros returns a time in microseconds that no other call has returned.
func (g *tsGenerator) micros(now time.Time) int64 {
	for {
		last := g.last.Load()
		at := max(now.UnixMicro(), last+1)
		if g.last.CompareAndSwap(last, at) {
			return at
		}
	}
}
