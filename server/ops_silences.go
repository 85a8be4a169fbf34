package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"slackrelay/events"
	"slackrelay/silence"
)

// listSilences lists the silences that are pending, active or ended recently. Matchers contain texts of events, so they are left
// out without the right to read texts.
func (s *Server) listSilences(w http.ResponseWriter, r *http.Request) error {
	all, err := s.opts.Silences.List(r.Context())
	if err != nil {
		return err
	}
	texts := s.mayRead(r)
	if !texts {
		for i := range all {
			all[i].Matchers = []events.Matcher{}
			all[i].Reason = ""
			all[i].Author = ""
		}
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"silences": all, "texts": texts})
	return nil
}

// newSilence is the body of POST /api/v1/silences.
type newSilence struct {
	Channel  string           `json:"channel"`
	Matchers []events.Matcher `json:"matchers"`
	StartsAt time.Time        `json:"starts_at"`
	EndsAt   time.Time        `json:"ends_at"`
	For      string           `json:"for"` // instead of ends_at, for example 2h
	Author   string           `json:"author"`
	Reason   string           `json:"reason"`
}

// maxSilence is the longest duration of a silence.
const maxSilence = 366 * 24 * time.Hour

func (s *Server) addSilence(w http.ResponseWriter, r *http.Request) error {
	var wanted newSilence
	if err := s.decodeAdminBody(r, &wanted); err != nil {
		return err
	}
	duration, err := parseDuration(wanted.For, 0, maxSilence)
	if err != nil {
		return err
	}
	if wanted.Channel != "" && !s.hasChannel(wanted.Channel) {
		return errUnknownChannel(wanted.Channel)
	}
	made, err := s.opts.Silences.Add(r.Context(), silence.Silence{
		Channel: wanted.Channel, Matchers: wanted.Matchers, StartsAt: wanted.StartsAt, EndsAt: wanted.EndsAt,
		Author: wanted.Author, Reason: wanted.Reason,
	}, duration)
	if err != nil {
		return silenceError(err)
	}
	s.audit(r, "silence created", "silence", made.ID, "silenced", wanted.Channel, "ends_at", made.EndsAt, "author", made.Author)
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

// silenceError gives an error its code.
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
