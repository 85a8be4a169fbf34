package server

import (
	"context"
	"errors"
	"fmt"
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
	texts := s.mayRead(r)
	if !texts {
		for i := range all {
			all[i].Matchers, all[i].Reason, all[i].Author = []events.Matcher{}, "", ""
		}
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"silences": all, "texts": texts})
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

// maxSilenced is the longest that a silence lasts.
const maxSilenced = 366 * 24 * time.Hour

func (s *Server) addSilence(w http.ResponseWriter, r *http.Request) error {
	var wanted newSilence
	if err := s.order(r, &wanted); err != nil {
		return err
	}
	lasts, err := lasting(wanted.For, 0, maxSilenced)
	if err != nil {
		return err
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
	s.audit(r, "silence made", "silence", made.ID, "silenced", wanted.Channel, "ends_at", made.EndsAt, "author", made.Author)
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
