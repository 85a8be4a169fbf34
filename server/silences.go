package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"slackrelay/events"
	"slackrelay/silence"
)

// Silences are those of the ops listener; *silence.Silencer is one.
type Silences interface {
	List(ctx context.Context) ([]silence.Listed, error)
	Add(ctx context.Context, s silence.Silence, lasts time.Duration) (silence.Silence, error)
	Expire(ctx context.Context, id string) (silence.Silence, error)
}

// listSilences lists those that wait, are active, or ended not long ago. Matchers are words of events, and are left out
// without the right to read them.
func (s *Server) listSilences(w http.ResponseWriter, r *http.Request) error {
	all, err := s.opts.Silences.List(r.Context())
	if err != nil {
		return err
	}
	if !s.mayRead(r) {
		for i := range all {
			all[i].Matchers, all[i].Reason, all[i].Author = []events.Matcher{}, "", ""
		}
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"silences": all, "texts": s.mayRead(r)})
	return nil
}

// newSilence is the body of a silence to be made.
type newSilence struct {
	Channel  string           `json:"channel"`
	Matchers []events.Matcher `json:"matchers"`
	StartsAt time.Time        `json:"starts_at"`
	EndsAt   time.Time        `json:"ends_at"`
	For      string           `json:"for"` // instead of ends_at, like 2h
	Author   string           `json:"author"`
	Reason   string           `json:"reason"`
}

// maxSilence is the most bytes of such a body.
const maxSilence = 256 << 10

func (s *Server) addSilence(w http.ResponseWriter, r *http.Request) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	var wanted newSilence
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxSilence))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return errorf(events.BadJSON, "the body is no silence: %v", err)
	}
	var lasts time.Duration
	if wanted.For != "" {
		var err error
		if lasts, err = time.ParseDuration(wanted.For); err != nil || lasts <= 0 {
			return errorf(events.BadField, "for is %q; write how long it lasts with a unit, like 2h or 30m", wanted.For)
		}
	}
	if _, known := s.doors[wanted.Channel]; wanted.Channel != "" && !known {
		return errorf(unknownChannel, "no channel is called %q", wanted.Channel)
	}
	made, err := s.opts.Silences.Add(r.Context(), silence.Silence{
		Channel: wanted.Channel, Matchers: wanted.Matchers, StartsAt: wanted.StartsAt, EndsAt: wanted.EndsAt, Author: wanted.Author, Reason: wanted.Reason,
	}, lasts)
	if err != nil {
		return silenceError(err)
	}
	s.audit(r, "silence made", "silence", made.ID, "silenced", made.Channel, "ends_at", made.EndsAt, "author", made.Author)
	s.writeJSON(w, r, http.StatusCreated, made)
	return nil
}

func (s *Server) expireSilence(w http.ResponseWriter, r *http.Request) error {
	if err := s.requireAdmin(r); err != nil {
		return err
	}
	ended, err := s.opts.Silences.Expire(r.Context(), r.PathValue("id"))
	if err != nil {
		return silenceError(err)
	}
	s.audit(r, "silence expired")
	s.writeJSON(w, r, http.StatusOK, ended)
	return nil
}

// silenceError is what a person is told.
func silenceError(err error) error {
	switch {
	case errors.Is(err, silence.ErrInvalid), errors.Is(err, silence.ErrTooMany):
		return errorf(events.BadField, "%v", err)
	case errors.Is(err, silence.ErrNotFound):
		return errorf(notFound, "%v", err)
	default:
		return fmt.Errorf("silences: %w", err)
	}
}
