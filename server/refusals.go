package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// Refused is the message of the lines that name a refused request. Anybody can cause them, so they are sampled over all
// channels together.
const Refused = "request refused"

// refuse counts and logs a request that is answered with an error, once, and holds the answer to a wrong credential back.
// channel is what the sender called it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, channel string, err error) {
	reply := replyTo(err)
	channel = s.configured(channel)
	if !isRefusal(r, reply.Code) {
		s.logFailure(r, channel, reply.Code, err)
		return
	}
	refusal := Refusal{
		Code: reply.Code, Route: r.Pattern, Channel: channel, Source: s.namedSource(r), From: s.from(r), Message: reply.Message, Last: time.Now().UTC(),
	}
	s.guard.note(refusal)
	var said *events.InputError
	switch {
	case !errors.As(err, &said): // what the relay could not do, for whoever asks
		s.logFailure(r, channel, reply.Code, err)
	case r.Pattern == loginRoute:
		s.opts.Logger.WarnContext(r.Context(), Audit, "what", "sign-in refused", "from", refusal.From)
	default:
		s.opts.Logger.WarnContext(r.Context(), Refused,
			"code", reply.Code, "channel", channel, "source", refusal.Source, "from", refusal.From, "route", refusal.Route)
	}
	if reply.Code == unauthorized && !s.guard.guesses.answer(r.Context(), s.proxies.client(r), s.opts.WrongCredentialDelay) {
		w.Header().Set("Connection", "close")
	}
}

// isRefusal tells whether an error keeps a sender out, or somebody who may not do what he asks of the ops listener. What the
// limits refuse (throttled) is counted in the ledger.
func isRefusal(r *http.Request, code events.Code) bool {
	operator := strings.Contains(r.Pattern, " ") // the routes of the ops listener name a method
	if operator {
		return code == unauthorized || code == forbidden
	}
	return code != throttled
}

// logFailure logs what is no fault of the sender.
func (s *Server) logFailure(r *http.Request, channel string, code events.Code, err error) {
	if statuses[code] >= http.StatusInternalServerError {
		s.opts.Logger.ErrorContext(r.Context(), "request failed", "channel", channel, "code", code, "error", err)
	}
}

// configured is the name of a channel, or of its test lane, or "" where there is none of that name: what a stranger writes
// into a path is no label, and does not belong into a log.
func (s *Server) configured(name string) string {
	if _, known := s.doors[name]; known {
		return name
	}
	for _, ch := range s.opts.Channels {
		if pipeline.TestLaneOf(ch.Name) == name {
			return name
		}
	}
	return ""
}

// namedSource is the source that a path names, "" where it is none that is known.
func (s *Server) namedSource(r *http.Request) string {
	if strings.HasPrefix(r.Pattern, "/services/") || strings.HasPrefix(r.Pattern, "/api/") {
		return slackSource
	}
	if source := r.PathValue("source"); slices.Contains(s.opts.Decoder.Sources(), source) {
		return source
	}
	return ""
}

// from is the address that a request comes from.
func (s *Server) from(r *http.Request) string {
	if address := s.proxies.client(r); address.IsValid() {
		return address.String()
	}
	return "unknown"
}

// listRefusals lists what this process refused. Addresses and answers are left out without the right to read texts.
func (s *Server) listRefusals(w http.ResponseWriter, r *http.Request) error {
	s.writeJSON(w, r, http.StatusOK, s.guard.list(s.mayRead(r)))
	return nil
}

// cutBytes cuts a text at most so long, between two characters.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
