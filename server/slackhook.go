package server

import (
	"cmp"
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
	channel, path := r.PathValue("channel"), r.PathValue("token")
	d, err := s.open(r, channel)
	if err != nil {
		return err
	}
	h := s.hold(s.proxies.client(r))
	defer h.release()
	call := newSlackCall(r)
	// The secret is the last part of the path, as Slack's is; Jenkins has it in the query.
	call.token = cmp.Or(path[strings.LastIndexByte(path, '/')+1:], r.URL.Query().Get("token"))
	who, b, err := s.letIn(w, d, channel, slackSource, &call.attempt, h)
	if err != nil {
		return err
	}
	defer b.release()
	if err := s.understand(&call, b, h); err != nil {
		return err
	}
	_, err = s.say(who, call, channel, events.SlackMessage{})
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
	fields map[string]string
	body   *body
}

// newSlackCall is a request whose body is read whatever its Content-Type says: JSON, a form with the JSON in "payload", or a
// form with the fields themselves.
func newSlackCall(r *http.Request) slackCall {
	if _, _, err := mediaType(r); err != nil {
		r.Header.Del("Content-Type")
	}
	return slackCall{attempt: attempt{request: r, now: time.Now(), unread: true}}
}

// field is a field of the body, of a form or of the address.
func (c slackCall) field(name string) string {
	return cmp.Or(c.fields[name], c.request.URL.Query().Get(name))
}

// understand finds the fields of a request that was let in.
func (s *Server) understand(c *slackCall, b *body, h *hold) error {
	if err := s.parse(c.request, b, h); err != nil {
		return err
	}
	c.body = b
	var ok bool
	if c.fields, ok = slackFields(b.plain); !ok && len(b.plain) > 0 {
		return errorf(events.BadJSON, "the body is not a JSON object")
	}
	return nil
}

// say takes in the message of a sender that was let in. as says by what name the sender will know it, and what it answers
// or replaces.
func (s *Server) say(who credential, c slackCall, channel string, as events.SlackMessage) (pipeline.Receipt, error) {
	r := c.request
	if who.signs && as.Update && (c.body.fromQuery || c.fields["ts"] != as.TS) {
		return pipeline.Receipt{}, errorf(unauthorized, "credential %q of channel %q signs the body, which does not contain ts; add ts to the body", who.name, channel)
	}
	all, header, err := s.decode(r, who, channel, slackSource, c.body)
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
	return s.take(r, arrived{channel: channel, sender: who.name, header: header, events: all})
}
