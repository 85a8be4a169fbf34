package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// Refused is the message of log lines about a refused request. Anybody can cause such lines, so they are sampled for all
// channels together.
const Refused = "request refused"

// refuse counts and logs a request that gets an error, and delays the reply to a wrong credential. channel is the name that the
// sender used; it need not exist.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, channel string, err error) {
	reply := replyTo(err)
	channel = s.configuredName(channel)
	if !isRefusal(r, reply.Code) {
		s.logFailure(r, channel, reply.Code, err)
		return
	}
	refusal := Refusal{
		Code:    reply.Code,
		Route:   r.Pattern,
		Channel: channel,
		Source:  s.knownSource(r),
		From:    s.proxies.client(r).String(),
		Message: reply.Message,
		Last:    time.Now().UTC(),
	}
	s.opts.Guard.add(refusal)
	var input *events.InputError
	switch {
	case !errors.As(err, &input): // the relay failed; the sender did nothing wrong
		s.logFailure(r, channel, reply.Code, err)
	case r.Pattern == loginRoute:
		s.opts.Logger.WarnContext(r.Context(), Audit, "what", "sign-in refused", "from", refusal.From)
	default:
		s.opts.Logger.WarnContext(r.Context(), Refused,
			"code", reply.Code, "channel", channel, "source", refusal.Source, "from", refusal.From, "route", refusal.Route)
	}
	if reply.Code == unauthorized && !s.opts.Guard.authDelay.wait(r.Context(), s.proxies.client(r), s.opts.WrongCredentialDelay) {
		w.Header().Set("Connection", "close")
	}
}

// isRefusal reports whether an error is listed as a refused request: on the public listener every error but throttled, which the
// ledger counts; on the ops listener only missing rights.
func isRefusal(r *http.Request, code events.Code) bool {
	ops := strings.Contains(r.Pattern, " ") // only the routes of the ops listener contain a method
	if ops {
		return code == unauthorized || code == forbidden
	}
	return code != throttled
}

// logFailure logs an error that is the relay's fault.
func (s *Server) logFailure(r *http.Request, channel string, code events.Code, err error) {
	if failures[code].status >= http.StatusInternalServerError {
		s.opts.Logger.ErrorContext(r.Context(), "request failed", "channel", channel, "code", code, "error", err)
	}
}

// configuredName returns the name of a channel or of its test lane, or "" if there is none of that name: anybody can write
// anything into a path, so it must not become a label or a log line.
func (s *Server) configuredName(name string) string {
	if _, ok := s.ingresses[pipeline.ChannelOfLane(name)]; ok {
		return name
	}
	return ""
}

// knownSource returns the source that a path names, or "" if it names none or one that does not exist.
func (s *Server) knownSource(r *http.Request) string {
	if d, ok := doors[r.Pattern]; ok {
		return d.source
	}
	if strings.HasPrefix(r.Pattern, "/services/") || strings.HasPrefix(r.Pattern, "/api/") {
		return slackSource
	}
	if source := r.PathValue("source"); slices.Contains(s.opts.Decoder.Sources(), source) {
		return source
	}
	return ""
}

// listRefusals returns what this process refused. Without the right to read texts, addresses and messages are left out.
func (s *Server) listRefusals(w http.ResponseWriter, r *http.Request) error {
	s.writeJSON(w, r, http.StatusOK, s.opts.Guard.list(s.mayRead(r)))
	return nil
}

// cutBytes cuts a text to at most limit bytes, between two characters, and appends "…" if it was longer.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
