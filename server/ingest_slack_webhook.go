package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// Tools that can only speak to Slack get an incoming webhook and the methods of the Web API that they call. The replies are
// exactly those of Slack. Events that the limits drop are a success for such tools.

// slackSource is the body format of such tools.
const slackSource = "slack"

// slackWebhook serves /services/{channel}/{token}, as an incoming webhook of Slack.
func (s *Server) slackWebhook(in *ingestRequest) error {
	in.source = slackSource
	if err := in.requirePost(); err != nil {
		return err
	}
	in.token = pathToken(in.r)
	in.acceptAnyMediaType()
	from, err := s.identify(in, in.r.PathValue("channel"))
	if err != nil {
		return err
	}
	call := &slackCall{ingestRequest: in}
	if err := s.parseSlackCall(call); err != nil {
		return err
	}
	if _, err := s.submitSlackMessage(call, from, events.SlackMessage{}); err != nil {
		return err
	}
	in.release()
	writeSlackText(in.w, http.StatusOK, "ok")
	return nil
}

// pathToken returns the last part of a path, where Slack and others have the secret; Jenkins sends it in the query.
func pathToken(r *http.Request) string {
	path := r.PathValue("token")
	return cmp.Or(path[strings.LastIndexByte(path, '/')+1:], r.URL.Query().Get("token"))
}

// writeSlackText replies in plain text without a newline, because senders compare the reply with "ok".
func writeSlackText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write([]byte(text))
}

// writeSlackWebhookError replies to an error as an incoming webhook of Slack, and counts and logs it.
func (s *Server) writeSlackWebhookError(w http.ResponseWriter, r *http.Request, err error) {
	reply := failures[replyTo(err).Code]
	status := reply.webhookStatus
	text := reply.webhookText
	if errors.Is(err, errNoText) {
		status = http.StatusBadRequest
		text = "no_text"
	}
	s.refuse(w, r, r.PathValue("channel"), err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", fmt.Sprint(retryAfterSeconds))
	}
	writeSlackText(w, status, text)
}

// errNoText is returned for a message without content.
var errNoText = errors.New("no text")

// slackCall is a request of a tool for Slack. Its body may be JSON, a form with JSON in "payload", or a form with the fields.
type slackCall struct {
	*ingestRequest

	fields map[string]string // of the body
}

// acceptAnyMediaType ignores a Content-Type that is not supported, as Slack does.
func (in *ingestRequest) acceptAnyMediaType() {
	if _, _, err := mediaType(in.r); err != nil {
		in.r.Header.Del("Content-Type")
	}
}

// field returns a field of the body or, if it has none of that name, of the query.
func (c *slackCall) field(name string) string {
	return cmp.Or(c.fields[name], c.r.URL.Query().Get(name))
}

// parseSlackCall waits until the body may be decoded, and finds its fields.
func (s *Server) parseSlackCall(c *slackCall) error {
	if err := s.parse(c.ingestRequest); err != nil {
		return err
	}
	var ok bool
	if c.fields, ok = slackFields(c.body.plain); !ok && len(c.body.plain) > 0 {
		return errorf(events.BadJSON, "the body is not a JSON object")
	}
	return nil
}

// submitSlackMessage passes a message to the intake. The TS of named is the name that the sender knows the message by; Update
// replaces the message of that name.
func (s *Server) submitSlackMessage(c *slackCall, from sender, named events.SlackMessage) (pipeline.Receipt, error) {
	if from.signs && named.Update && (c.body.fromQuery || c.fields["ts"] != named.TS) {
		return pipeline.Receipt{}, errorf(unauthorized, "credential %q of channel %q signs the body, which does not contain ts; "+
			"add ts to the body", from.name, from.channel)
	}
	arrival, err := s.decode(c.ingestRequest, from)
	if input, ok := errors.AsType[*events.InputError](err); ok && (input.Code == events.BadField || input.Code == events.EmptyBody) {
		return pipeline.Receipt{}, fmt.Errorf("%w: %w", errNoText, err)
	}
	if err != nil {
		return pipeline.Receipt{}, err
	}
	for _, e := range arrival.Events {
		e.Slack.TS = named.TS
		e.Slack.Update = named.Update
	}
	return s.submit(c.ingestRequest, arrival)
}
