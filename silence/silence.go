// Package silence mutes matching events for a limited time, like Alertmanager's silences: matchers, an end, an author and a
// reason. All replicas share them through Redis, and they take effect on each replica within a second.
//
// There are two stores behind [Store]: [Redis], and [Memory] for a single process without Redis.
package silence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"slackrelay/events"
)

// Silence mutes the events of a channel that match all its matchers, from StartsAt until EndsAt.
type Silence struct {
	ID        string           `json:"id"`
	Channel   string           `json:"channel"`  // "" = every channel
	Matchers  []events.Matcher `json:"matchers"` // at least one
	StartsAt  time.Time        `json:"starts_at"`
	EndsAt    time.Time        `json:"ends_at"`
	CreatedAt time.Time        `json:"created_at"`
	Author    string           `json:"author"`
	Reason    string           `json:"reason"`
	// FiringOnly lets resolves pass, so that a message that was posted shows the end of its alert.
	FiringOnly bool `json:"firing_only,omitempty"`
	// Message is the message that was muted, as "<channel>/<number>"; "" = the silence was made without one.
	Message string `json:"message,omitempty"`
	// UntilResolved ends the silence, at the latest at EndsAt, when Message is resolved. Problem then means that the silence is of
	// a single alert, which is another problem if it started after StartsAt.
	UntilResolved bool `json:"until_resolved,omitempty"`
	Problem       bool `json:"problem,omitempty"`
}

// Store stores silences. Its clock decides when they begin and end.
type Store interface {
	// Put stores a silence and replaces one with the same id.
	Put(ctx context.Context, s Silence) error
	// Create stores a silence, unless there is one with the same id.
	Create(ctx context.Context, s Silence) (created bool, err error)
	// List returns the store's time, and all silences: pending, active, and those that ended less than 5 days ago.
	List(ctx context.Context) (now time.Time, all []Silence, err error)
}

// Bounds of silences.
const (
	maxSilences = 1000
	maxMatchers = 50
	maxWords    = 1000 // bytes of an author or a reason
	maxDuration = 366 * 24 * time.Hour
	// keepEnded is how long an ended silence is listed, as in Alertmanager.
	keepEnded = 5 * 24 * time.Hour
)

// Errors of [Silencer.Add] and [Silencer.Expire] that the caller can fix.
var (
	ErrInvalid  = errors.New("the silence is not valid")
	ErrNotFound = errors.New("the silence does not exist")
	ErrTooMany  = errors.New("there are too many silences; expire some of them")
)

// State is the state of a silence.
type State string

// States of a silence.
const (
	Pending State = "pending" // it has not begun yet
	Active  State = "active"
	Ended   State = "ended"
)

// StateAt returns the state of a silence at a time.
func (s Silence) StateAt(now time.Time) State {
	switch {
	case now.Before(s.StartsAt):
		return Pending
	case now.Before(s.EndsAt):
		return Active
	default:
		return Ended
	}
}

// complete sets id, times and defaults of a new silence and validates it.
func (s *Silence) complete(now time.Time) error {
	if s.StartsAt.IsZero() {
		s.StartsAt = now
	}
	s.ID, s.CreatedAt = rand.Text(), now
	s.Author, s.Reason = strings.TrimSpace(s.Author), strings.TrimSpace(s.Reason)
	return s.validate(now)
}

// validate returns [ErrInvalid] with what is wrong with a silence that begins or goes on at a time.
func (s *Silence) validate(now time.Time) error {
	switch {
	case len(s.Matchers) == 0:
		return fmt.Errorf("%w: it has no matcher and would mute everything; add one", ErrInvalid)
	case len(s.Matchers) > maxMatchers:
		return fmt.Errorf("%w: it has %d matchers, at most %d are allowed; remove some", ErrInvalid, len(s.Matchers), maxMatchers)
	case s.Author == "" || s.Reason == "":
		return fmt.Errorf("%w: it needs an author and a reason; set both", ErrInvalid)
	case len(s.Author) > maxWords || len(s.Reason) > maxWords:
		return fmt.Errorf("%w: author and reason may have %d bytes each; shorten them", ErrInvalid, maxWords)
	case !s.EndsAt.After(s.StartsAt) || !s.EndsAt.After(now):
		return fmt.Errorf("%w: it must end after it begins, and in the future; set a later end", ErrInvalid)
	case s.EndsAt.Sub(now) > maxDuration:
		return fmt.Errorf("%w: it must end within a year; set an earlier end", ErrInvalid)
	}
	_, err := s.compile()
	return err
}

// compiled is a valid silence, ready to match events.
type compiled struct {
	Silence
	matchers []events.CompiledMatcher
}

func (s Silence) compile() (compiled, error) {
	c := compiled{Silence: s}
	for i, m := range s.Matchers {
		matcher, err := m.Compile()
		if err != nil {
			return c, fmt.Errorf("%w: matchers[%d]: %w", ErrInvalid, i, err)
		}
		if strings.HasPrefix(m.Field, "header.") {
			return c, fmt.Errorf("%w: matchers[%d]: a silence cannot match headers; use a rule", ErrInvalid, i)
		}
		c.matchers = append(c.matchers, matcher)
	}
	return c, nil
}

func (c compiled) mutes(e *events.Event, now time.Time) bool {
	if c.Channel != "" && c.Channel != e.Channel || c.StateAt(now) != Active || c.passes(e) {
		return false
	}
	for _, m := range c.matchers {
		if !m.Matches(e, nil) {
			return false
		}
	}
	return true
}

// passes reports whether the silence does not apply to an event that its matchers may match.
func (c compiled) passes(e *events.Event) bool {
	return c.FiringOnly && e.Status == events.Resolved || c.Problem && e.StartedAt.After(c.StartsAt)
}
