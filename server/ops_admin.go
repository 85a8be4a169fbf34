package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// isAdmin reports whether a request presents the admin token, or the cookie of a session.
func (s *Server) isAdmin(r *http.Request) bool {
	return s.admin.equals(bearer(r)) || s.signedIn(r)
}

// requireAdmin returns an error unless the caller may change state.
func (s *Server) requireAdmin(r *http.Request) error {
	switch {
	case !s.admin.set:
		return errorf(forbidden, "this call changes state, and no admin token is configured; set RELAY_ADMIN_TOKEN")
	case !s.isAdmin(r):
		return errorf(unauthorized, "this call changes state and needs the admin token; send the header Authorization: Bearer <token>")
	default:
		return nil
	}
}

// mayRead reports whether the caller may read the texts of events: on this machine, or with the admin token.
func (s *Server) mayRead(r *http.Request) bool { return s.opts.Local || s.isAdmin(r) }

// maxAdminBody is the largest body of a call that changes state, in bytes.
const maxAdminBody = 64 << 10

// decodeAdminBody decodes the body of a call that changes state, if the caller may change it. An empty body leaves v as it is.
func (s *Server) decodeAdminBody(r *http.Request, v any) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxAdminBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return errorf(events.BadJSON, "the body is not valid: %v", err)
	}
	return nil
}

// parseDuration parses the field "for": a positive duration of at most limit. An empty text is fallback.
func parseDuration(text string, fallback, limit time.Duration) (time.Duration, error) {
	if text == "" {
		return fallback, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > limit {
		return 0, errorf(events.BadField, "for: %q is not a duration of at most %s; use a unit, for example 2h or 30m", text, limit)
	}
	return d, nil
}

// defaultPause is how long a channel is paused if the call does not specify it.
const defaultPause = time.Hour

// pause pauses a channel: it accepts events, and sends nothing.
func (s *Server) pause(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		For    string `json:"for"`
		Reason string `json:"reason"`
	}
	if err := s.decodeAdminBody(r, &wanted); err != nil {
		return err
	}
	wait, err := parseDuration(wanted.For, defaultPause, pipeline.MaxPause)
	if err != nil {
		return err
	}
	reason := "by hand"
	if text := strings.TrimSpace(wanted.Reason); text != "" {
		reason += ": " + text
	}
	if err := s.opts.Admin.Pause(r.Context(), r.PathValue("channel"), wait, reason); err != nil {
		return err
	}
	s.audit(r, "channel paused", "for", wait, "reason", reason)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channel": r.PathValue("channel"), "paused_for": wait.Seconds(), "reason": reason})
	return nil
}

// resume ends the pause of a channel, whatever its reason.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	if err := s.opts.Admin.Pause(r.Context(), r.PathValue("channel"), 0, ""); err != nil {
		return err
	}
	s.audit(r, "channel resumed")
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channel": r.PathValue("channel")})
	return nil
}

// resetLimit frees all slots of a level.
func (s *Server) resetLimit(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		Level string `json:"level"`
		Value string `json:"value"`
	}
	if err := s.decodeAdminBody(r, &wanted); err != nil {
		return err
	}
	err := s.opts.Admin.ResetLimit(r.Context(), r.PathValue("channel"), wanted.Level, wanted.Value)
	if errors.Is(err, pipeline.ErrNoLevel) {
		return errorf(events.BadField, `level is %q and value %q; the level must be one of the channel's, and only "channel" has no value`,
			wanted.Level, wanted.Value)
	}
	if err != nil {
		return err
	}
	s.audit(r, "limit reset", "level", wanted.Level, "value", wanted.Value)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channel": r.PathValue("channel"), "level": wanted.Level, "value": wanted.Value})
	return nil
}

// There is one admin token for all operators, so a caller may add its name.
const (
	actorHeader = "X-Relay-User"
	maxActor    = 100
)

// Audit is the message of log lines about changes: who changed what.
const Audit = "audit"

// audit logs a change and who made it.
func (s *Server) audit(r *http.Request, what string, more ...any) {
	actor := r.Header.Get(actorHeader)
	if len(actor) > maxActor {
		actor = actor[:maxActor]
	}
	args := []any{"what", what, "who", actor, "from", r.RemoteAddr}
	for _, name := range []string{"channel", "id"} {
		if value := r.PathValue(name); value != "" {
			args = append(args, name, value)
		}
	}
	s.opts.Logger.InfoContext(r.Context(), Audit, append(args, more...)...)
}
