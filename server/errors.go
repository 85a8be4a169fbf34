package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/silence"
	"slackrelay/store"
)

// The codes of error replies that do not come from decoding.
const (
	unauthorized         events.Code = "unauthorized"
	unknownChannel       events.Code = "unknown_channel"
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

// statuses is the table of all error replies.
var statuses = map[events.Code]int{
	events.EmptyBody:     http.StatusBadRequest,
	events.BadJSON:       http.StatusBadRequest,
	events.BadField:      http.StatusBadRequest,
	events.NoEvents:      http.StatusBadRequest,
	unauthorized:         http.StatusUnauthorized,
	unknownChannel:       http.StatusNotFound,
	events.UnknownSource: http.StatusNotFound,
	notFound:             http.StatusNotFound,
	forbidden:            http.StatusForbidden,
	misdirected:          http.StatusMisdirectedRequest,
	methodNotAllowed:     http.StatusMethodNotAllowed,
	bodyTooLarge:         http.StatusRequestEntityTooLarge,
	events.TooManyEvents: http.StatusRequestEntityTooLarge,
	unsupportedMediaType: http.StatusUnsupportedMediaType,
	throttled:            http.StatusTooManyRequests,
	unavailable:          http.StatusServiceUnavailable,
	internal:             http.StatusInternalServerError,
}

// faultsOfSenders are the codes by which a channel refuses what a sender got wrong.
var faultsOfSenders = []events.Code{
	unauthorized, forbidden, events.UnknownSource, events.EmptyBody, events.BadJSON, events.BadField, events.NoEvents, bodyTooLarge, events.TooManyEvents, unsupportedMediaType, methodNotAllowed,
}

// retryAfterSeconds is when a sender that was refused for an outage may try again.
const retryAfterSeconds = 5

func errorf(code events.Code, format string, args ...any) error {
	return &events.InputError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// handlerFunc handles a request or says why not.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

// handle is the one place that writes error replies.
func (s *Server) handle(f handlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := f(w, r)
		if err == nil {
			return
		}
		reply := s.replyTo(r, err)
		status := statuses[reply.Code]
		switch status {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", `Bearer realm="relay"`)
		case http.StatusServiceUnavailable:
			w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		}
		s.refuse(w, r, r.PathValue("channel"), err)
		s.writeJSON(w, r, status, map[string]any{"error": map[string]string{"code": string(reply.Code), "message": reply.Message}})
	})
}

// replyTo finds what a sender may be told of an error.
func replyTo(err error) *events.InputError {
	var input *events.InputError
	switch {
	case errors.As(err, &input):
		return input
	case errors.Is(err, pipeline.ErrUnknownChannel):
		return &events.InputError{Code: unknownChannel, Message: "no such channel"}
	case errors.Is(err, silence.ErrUnavailable), errors.Is(err, store.ErrUnavailable):
		return &events.InputError{Code: unavailable, Message: notStored(err)}
	default:
		return &events.InputError{Code: internal, Message: "something went wrong in the relay; its log says what"}
	}
}

func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "reply could not be encoded", "error", err)
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":{"code":"internal","message":"the reply could not be encoded"}}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body.Bytes())
}
