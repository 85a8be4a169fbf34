// Package silence keeps events quiet that people do not want to hear of for a while: a matcher, an end, who wants it and why,
// as Alertmanager's silences. They are shared by all replicas through Redis, and take effect on each within a second.
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

// Silence mutes the events of a channel that fulfil all its matchers, from a time until another.
type Silence struct {
	ID        string           `json:"id"`
	Channel   string           `json:"channel"` // "" = every channel
	Matchers  []events.Matcher `json:"matchers"`
	StartsAt  time.Time        `json:"starts_at"`
	EndsAt    time.Time        `json:"ends_at"`
	CreatedAt time.Time        `json:"created_at"`
	Author    string           `json:"author"`
	Reason    string           `json:"reason"`
}

// Store keeps silences. Times are its own clock's.
type Store interface {
	// Put keeps a silence, in the place of one with the same id.
	Put(ctx context.Context, s Silence) error
	// List answers the time, and all silences: those that wait, are active, or ended not long ago.
	List(ctx context.Context) (now time.Time, all []Silence, err error)
}

// Bounds of what is kept.
const (
	maxSilences = 1000
	maxMatchers = 50
	maxWords    = 1000
	maxFor      = 366 * 24 * time.Hour
	// keepEnded is how long a silence that ended is listed, as Alertmanager does.
	keepEnded = 5 * 24 * time.Hour
)

// Errors of the caller.
var (
	ErrInvalid  = errors.New("this silence makes no sense")
	ErrNotFound = errors.New("there is no such silence")
	ErrTooMany  = errors.New("there are too many silences; expire some")
)

// State says how a silence stands.
type State string

// The states.
const (
	Pending State = "pending" // it has not begun
	Active  State = "active"
	Ended   State = "ended"
)

// StateAt is how a silence stands at a time.
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

// complete fills in what the caller left open, and checks the rest.
func (s *Silence) complete(now time.Time) error {
	if s.StartsAt.IsZero() {
		s.StartsAt = now
	}
	s.ID, s.CreatedAt = rand.Text(), now
	s.Author, s.Reason = strings.TrimSpace(s.Author), strings.TrimSpace(s.Reason)
	switch {
	case len(s.Matchers) == 0:
		return fmt.Errorf("%w: it needs a matcher, or it would mute everything", ErrInvalid)
	case len(s.Matchers) > maxMatchers:
		return fmt.Errorf("%w: it has %d matchers, at most %d are taken", ErrInvalid, len(s.Matchers), maxMatchers)
	case s.Author == "" || s.Reason == "":
		return fmt.Errorf("%w: it needs an author and a reason, for those who wonder later", ErrInvalid)
	case len(s.Author) > maxWords || len(s.Reason) > maxWords:
		return fmt.Errorf("%w: author and reason may have %d bytes each", ErrInvalid, maxWords)
	case !s.EndsAt.After(s.StartsAt) || !s.EndsAt.After(now):
		return fmt.Errorf("%w: it must end after it begins, and after now", ErrInvalid)
	case s.EndsAt.Sub(now) > maxFor:
		return fmt.Errorf("%w: it may last a year at most", ErrInvalid)
	}
	_, err := s.compile()
	return err
}

// compiled is a silence that can be asked.
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
			return c, fmt.Errorf("%w: matchers[%d]: a silence looks at events, not at headers; use a rule", ErrInvalid, i)
		}
		c.matchers = append(c.matchers, matcher)
	}
	return c, nil
}

func (c compiled) mutes(e *events.Event, now time.Time) bool {
	if c.Channel != "" && c.Channel != e.Channel || c.StateAt(now) != Active {
		return false
	}
	for _, m := range c.matchers {
		if !m.Holds(e, nil) {
			return false
		}
	}
	return true
}
