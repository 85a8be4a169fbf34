package problem

import (
	"encoding/json"
	"time"
)

// maxSources is how many sources an inhibition knows one by one for the same values of its labels.
const maxSources = 200

// Sources is what fires for one inhibition and one set of values of its labels. Times are microseconds of the store's clock.
type Sources struct {
	Firing  map[string]Source `json:"firing,omitempty"` // by the problem
	More    int64             `json:"more,omitempty"`   // sources beyond those that are known one by one
	Until   int64             `json:"until,omitempty"`  // of them: when they are forgotten
	EndedAt int64             `json:"ended_at,omitempty"`
}

// Source is an alert that fires.
type Source struct {
	Title string `json:"title"`
	Until int64  `json:"until"` // when it is forgotten, unless it fires again
	At    int64  `json:"at"`    // when it began to fire, or fired again
}

// Note notes that a source fires for ttl from now on, or that it is resolved. changed is false if that is known already.
func (s Sources) Note(key, title string, firing bool, ttl time.Duration, now int64) (_ Sources, changed bool) {
	known, isKnown := s.Firing[key]
	until := now + ttl.Microseconds()
	switch {
	case firing && isKnown && known.Until > until-(ttl/10).Microseconds():
		return s, false // a repeat: nearly as good
	case firing && !isKnown && len(s.Firing) >= maxSources:
		s.More++
		s.Until = until
		return s, true
	case !firing && !isKnown && s.More == 0:
		return s, false
	case !firing && !isKnown:
		s.More--
		s.EndedAt = now
		return s, true
	}
	s = s.withoutForgotten(now)
	if firing {
		s.Firing[key] = Source{Title: title, Until: until, At: now}
		return s, true
	}
	delete(s.Firing, key)
	s.EndedAt = now
	return s, true
}

// ResolveMissed notes at now that a source was resolved at the time at, unless it fired again since then.
func (s Sources) ResolveMissed(key string, at, now int64) (_ Sources, changed bool) {
	if s.Firing[key].At > at {
		return s, false
	}
	return s.Note(key, "", false, 0, now)
}

// withoutForgotten returns a copy without the sources that did not fire again in time.
func (s Sources) withoutForgotten(now int64) Sources {
	firing := make(map[string]Source, len(s.Firing)+1)
	for key, one := range s.Firing {
		if one.Until <= now {
			s.EndedAt = max(s.EndedAt, one.Until)
			continue
		}
		firing[key] = one
	}
	s.Firing = firing
	return s
}

// Active returns the title of a source that fires, other than the problem itself.
func (s Sources) Active(except string, now int64) (title string, fires bool) {
	first := ""
	for key, one := range s.Firing {
		if key != except && one.Until > now && (first == "" || key < first) {
			first, title = key, one.Title
		}
	}
	if first == "" && s.More > 0 && s.Until > now {
		return "another source", true
	}
	return title, first != ""
}

// End returns when the last source ended, at now.
func (s Sources) End(now int64) int64 {
	ended := s.EndedAt
	for _, one := range s.Firing {
		if one.Until <= now {
			ended = max(ended, one.Until)
		}
	}
	if s.More > 0 && s.Until <= now {
		ended = max(ended, s.Until)
	}
	return ended
}

// DecodeSources returns sources; without data, there are none.
func DecodeSources(data []byte) (s Sources, err error) {
	if len(data) == 0 {
		return s, nil
	}
	err = json.Unmarshal(data, &s)
	return s, err
}
