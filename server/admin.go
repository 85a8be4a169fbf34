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

// maxOrder is the most bytes of what an operator asks for.
const maxOrder = 64 << 10

// order reads what an operator asks for; an empty body asks for nothing special.
func (s *Server) order(r *http.Request, v any) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxOrder))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return errorf(events.BadJSON, "the body cannot be read: %v", err)
	}
	return nil
}

// lasting reads a time that something lasts.
func lasting(text string, otherwise, most time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		return 0, errorf(events.BadField, "for is %q; write how long with a unit, like 2h or 30m, at most %s", text, most)
	}
	return d, nil
}

// defaultPause is how long a channel is stopped where nobody says.
const defaultPause = time.Hour

// pause stops a channel's sending.
func (s *Server) pause(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		For    string `json:"for"`
		Reason string `json:"reason"`
	}
	if err := s.order(r, &wanted); err != nil {
		return err
	}
	wait, err := lasting(wanted.For, defaultPause, pipeline.MaxPause)
	if err != nil {
		return err
	}
	reason := "by hand"
	if said := strings.TrimSpace(wanted.Reason); said != "" {
		reason += ": " + said
	}
	if err := s.opts.Admin.Pause(r.Context(), r.PathValue("channel"), wait, reason); err != nil {
		return err
	}
	s.audit(r, "channel paused", "for", wait, "reason", reason)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channel": r.PathValue("channel"), "paused_for": wait.Seconds(), "reason": reason})
	return nil
}

// resume lets a channel go on, whatever it waited for.
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

// resetLimit empties a level.
func (s *Server) resetLimit(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		Level string `json:"level"`
		Value string `json:"value"`
	}
	if err := s.order(r, &wanted); err != nil {
		return err
	}
	err := s.opts.Admin.ResetLimit(r.Context(), r.PathValue("channel"), wanted.Level, wanted.Value)
	if errors.Is(err, pipeline.ErrNoLevel) {
		return errorf(events.BadField, `level is %q and value %q; the level must be one of the channel's, and only "channel" has no value`, wanted.Level, wanted.Value)
	}
	if err != nil {
		return err
	}
	s.audit(r, "limit reset", "level", wanted.Level, "value", wanted.Value)
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channel": r.PathValue("channel"), "level": wanted.Level, "value": wanted.Value})
	return nil
}

// Who presents the admin token may say who he is: the token is one for all.
const (
	actorHeader = "X-Relay-User"
	maxActor    = 100
)

// Audit is the message of the lines that say who changed what.
const Audit = "audit"

// audit logs who changed what.
func (s *Server) audit(r *http.Request, what string, more ...any) {
	who := r.Header.Get(actorHeader)
	if len(who) > maxActor {
		who = who[:maxActor]
	}
	args := []any{"what", what, "who", who, "from", r.RemoteAddr}
	for _, name := range []string{"channel", "id"} {
		if value := r.PathValue(name); value != "" {
			args = append(args, name, value)
		}
	}
	s.opts.Logger.InfoContext(r.Context(), Audit, append(args, more...)...)
}
