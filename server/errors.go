package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/silence"
	"slackrelay/store"
)

// The codes of error replies that do not come from decoding.
const (
	unauthorized         events.Code = "unauthorized"
	unknownChannel       events.Code = "unknown_channel"
	unknownHeartbeat     events.Code = "unknown_heartbeat"
	notFound             events.Code = "not_found"
	forbidden            events.Code = "forbidden"
	misdirected          events.Code = "misdirected"
	methodNotAllowed     events.Code = "method_not_allowed"
	bodyTooLarge         events.Code = "body_too_large"
	unsupportedMediaType events.Code = "unsupported_media_type"
	throttled            events.Code = "throttled"
	unavailable          events.Code = "unavailable"
	internal             events.Code = "internal"
)

// failure is how the relay replies to a request that failed: the status, and what tools for Slack get instead of the code.
type failure struct {
	status        int
	webhookStatus int    // of an incoming webhook of Slack
	webhookText   string // its body
	apiError      string // of Slack's Web API, whose status is 200
}

// failures is the table of all error replies.
var failures = map[events.Code]failure{
	events.EmptyBody:     {http.StatusBadRequest, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	events.BadJSON:       {http.StatusBadRequest, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	events.BadField:      {http.StatusBadRequest, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	events.NoEvents:      {http.StatusBadRequest, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	unauthorized:         {http.StatusUnauthorized, http.StatusForbidden, "invalid_token", "invalid_auth"},
	unknownChannel:       {http.StatusNotFound, http.StatusNotFound, "channel_not_found", "channel_not_found"},
	unknownHeartbeat:     {http.StatusNotFound, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	events.UnknownSource: {http.StatusNotFound, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	notFound:             {http.StatusNotFound, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	forbidden:            {http.StatusForbidden, http.StatusForbidden, "action_prohibited", "access_denied"},
	misdirected:          {http.StatusMisdirectedRequest, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	methodNotAllowed:     {http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, "invalid_payload", "invalid_json"},
	bodyTooLarge:         {http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge, "invalid_payload", "msg_too_long"},
	events.TooManyEvents: {http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge, "invalid_payload", "invalid_json"},
	unsupportedMediaType: {http.StatusUnsupportedMediaType, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	throttled:            {http.StatusTooManyRequests, http.StatusBadRequest, "invalid_payload", "invalid_json"},
	unavailable:          {http.StatusServiceUnavailable, http.StatusServiceUnavailable, "service_unavailable", "service_unavailable"},
	internal:             {http.StatusInternalServerError, http.StatusInternalServerError, "rollup_error", "internal_error"},
}

// senderFaults are the codes of webhooks that are refused for a mistake of their sender.
var senderFaults = []events.Code{
	unauthorized, forbidden, methodNotAllowed, bodyTooLarge, unsupportedMediaType,
	events.UnknownSource, events.EmptyBody, events.BadJSON, events.BadField, events.NoEvents, events.TooManyEvents,
}

// retryAfterSeconds is the Retry-After of replies with 503.
const retryAfterSeconds = 5

// errorf returns an error with a code of the table and a message for the sender of the request.
func errorf(code events.Code, format string, args ...any) error {
	return &events.InputError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func errUnknownChannel(name string) error {
	return errorf(unknownChannel, "no channel is called %q", name)
}

// handlerFunc handles a request of the ops listener, or returns why it failed.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

// handle adapts a handlerFunc: it writes the reply of the error.
func (s *Server) handle(f handlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			s.writeError(w, r, err)
		}
	})
}

// writeError replies with an error as JSON, and counts and logs it.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	reply := replyTo(err)
	if reply.Code == unavailable && isOutage(err) && strings.HasPrefix(r.URL.Path, "/api/v1/") {
		reply = outageReply(r, err)
	}
	status := failures[reply.Code].status
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="relay"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	}
	s.refuse(w, r, r.PathValue("channel"), err)
	s.writeJSON(w, r, status, map[string]any{"error": map[string]string{"code": string(reply.Code), "message": reply.Message}})
}

// replyTo returns the code and the message that a sender gets for an error. Errors without a code of their own are either an
// outage or a fault of the relay, whose details are for the log alone.
func replyTo(err error) *events.InputError {
	var input *events.InputError
	switch {
	case errors.As(err, &input):
		return input
	case errors.Is(err, pipeline.ErrUnknownChannel):
		return &events.InputError{Code: unknownChannel, Message: "no such channel"}
	case errors.Is(err, pipeline.ErrUnknownHeartbeat): // a reload removed it
		return &events.InputError{Code: unknownHeartbeat, Message: "no such heartbeat"}
	case isOutage(err):
		return &events.InputError{Code: unavailable, Message: notStored(err)}
	default:
		return &events.InputError{Code: internal, Message: "the relay failed; the cause is in its log"}
	}
}

// notStored explains to a sender that events may be lost and what to do. It contains no name, address or text.
func notStored(err error) string {
	const retry = "; send the request again, events that are already stored get duplicate"
	if fault := store.FaultOf(err); fault != "" {
		return fault.String() + ", so not all events were stored" + retry
	}
	return "it is unknown whether all events were stored" + retry
}

// outageReply explains an outage to an operator: the cause, and what it means for the call.
func outageReply(r *http.Request, err error) *events.InputError {
	effect := "the data could not be read from Redis"
	if r.Method != http.MethodGet {
		effect = "it is unknown whether the change was made completely"
	}
	if errors.Is(err, silence.ErrUnavailable) {
		effect += "; the last known silences stay in effect"
	}
	cause := cmp.Or(store.Describe(err), "the shared state is unavailable")
	return &events.InputError{Code: unavailable, Message: cause + ": " + effect}
}

func isOutage(err error) bool {
	return errors.Is(err, silence.ErrUnavailable) || errors.Is(err, ratelimit.ErrUnavailable)
}

func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "reply could not be encoded", "error", err)
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":{"code":"internal","message":"the reply could not be encoded"}}` + "\n")
	}
	writeBody(w, status, body.Bytes())
}

// writeReceipt replies to a webhook whose events are all stored.
func writeReceipt(w http.ResponseWriter, receipt *pipeline.Receipt) {
	buffer := borrowBuffer()
	body := append(receipt.AppendJSON(*buffer), '\n')
	writeBody(w, http.StatusAccepted, body)
	returnBuffer(buffer, body)
}

// The values of the headers of all replies in JSON, made once.
var (
	jsonReply = []string{"application/json; charset=utf-8"}
	nosniff   = []string{"nosniff"}
)

func writeBody(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = jsonReply
	header["X-Content-Type-Options"] = nosniff
	w.WriteHeader(status)
	w.Write(body)
}
