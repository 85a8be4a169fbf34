package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/silence"
)

// Bounds of the document of a silence, which must stay below [store.MaxProblemBytes].
const (
	maxSilenceChannels = 50
	maxSilenceFiring   = 20 // alerts of a channel that are followed
)

const (
	// soonBefore is how long before the end of a silence a notice says what still fires. A silence that lasts little longer has none.
	soonBefore = time.Hour
	// madeWithin is how long ago a silence may have been made, or have ended, for a notice to say so: before, no replica ran, or one of
	// a version that posts no notices.
	madeWithin = 10 * time.Minute
	// keepSilenceDocument is how long the document of a silence is kept after its end: longer than the silence is listed.
	keepSilenceDocument = 6 * 24 * time.Hour
)

// silenceMoment is a part of the life of a silence, in which notices are posted once.
type silenceMoment struct {
	phase string
	ends  int64
}

// The phases of a silence.
const (
	silenceMade   = "made"
	silenceSoon   = "soon"
	silenceEnding = "ending" // it has ended, and each replica writes what it muted and what was resolved
	silenceEnded  = "ended"
)

// endedAfter is how long after the end of a silence its notice is posted: each replica looks several times meanwhile.
const endedAfter = 3 * time.Second

func momentOf(one *silence.Silence, now time.Time) silenceMoment {
	m := silenceMoment{phase: silenceMade, ends: one.EndsAt.UnixMicro()}
	switch {
	case one.StateAt(now) == silence.Ended:
		m.phase = silenceEnding
		if now.Sub(one.EndsAt) >= endedAfter {
			m.phase = silenceEnded
		}
	case one.EndsAt.Sub(now) <= soonBefore && one.EndsAt.Sub(one.StartsAt) > soonBefore*3/2:
		m.phase = silenceSoon
	}
	return m
}

// silenceState is the document of a silence.
type silenceState struct {
	Ends     int64                      `json:"ends"`            // when it was to end, as was last known; microseconds
	Soon     int64                      `json:"soon,omitempty"`  // the end before which notices were posted
	Over     bool                       `json:"ended,omitempty"` // its end was announced
	Channels map[string]*silencedEvents `json:"channels"`        // that it concerns
}

// silencedEvents are the events that a silence has muted in a channel.
type silencedEvents struct {
	Muted  int64    `json:"muted"`
	Firing []string `json:"firing,omitempty"` // the alerts that still fire, as far as they are followed

	resolved []string // since the last write
}

func (s *silencedEvents) add(e *events.Event) {
	s.Muted++
	if !isAlert(e) {
		return
	}
	s.follow(problemKey(e), e.Status == events.Firing)
}

// follow notes that an alert fires, or is resolved.
func (s *silencedEvents) follow(key string, fires bool) {
	i := slices.Index(s.Firing, key)
	switch {
	case fires && i < 0 && len(s.Firing) < maxSilenceFiring:
		s.Firing = append(s.Firing, key)
	case !fires && i >= 0:
		s.Firing = slices.Delete(s.Firing, i, i+1)
	}
	i = slices.Index(s.resolved, key)
	switch {
	case !fires && i < 0 && len(s.resolved) < maxSilenceFiring:
		s.resolved = append(s.resolved, key)
	case fires && i >= 0:
		s.resolved = slices.Delete(s.resolved, i, i+1)
	}
}

// merge adds what was muted in the same channel: later, or earlier.
func (s *silencedEvents) merge(other *silencedEvents, earlier bool) {
	s.Muted += other.Muted
	if earlier {
		for _, key := range other.Firing {
			if !slices.Contains(s.resolved, key) {
				s.follow(key, true)
			}
		}
		return
	}
	for _, key := range other.resolved {
		s.follow(key, false)
	}
	for _, key := range other.Firing {
		s.follow(key, true)
	}
}

// merge adds what was muted since the document was written.
func (s *silenceState) merge(muted map[string]*silencedEvents) {
	for _, channel := range slices.Sorted(maps.Keys(muted)) {
		known := s.Channels[channel]
		if known == nil {
			if len(s.Channels) >= maxSilenceChannels {
				continue
			}
			known = &silencedEvents{}
			s.Channels[channel] = known
		}
		known.merge(muted[channel], false)
	}
}

// advance returns the notices that are due, and notes them in the document.
func (s *silenceState) advance(one *silence.Silence, now time.Time, isNew bool) []notifier.Notice {
	moment := momentOf(one, now)
	early := s.Ends > moment.ends
	if moment.phase == silenceEnding {
		return nil
	}
	var news []notifier.Notice
	say := func(phase string, shown func(*silencedEvents) bool) {
		for _, channel := range slices.Sorted(maps.Keys(s.Channels)) {
			if events := s.Channels[channel]; shown(events) {
				news = append(news, silenceNotice(one, phase, channel, events, early))
			}
		}
	}
	fires := func(e *silencedEvents) bool { return len(e.Firing) > 0 }
	switch {
	case moment.phase == silenceEnded && !s.Over:
		s.Over = true
		if now.Sub(one.EndsAt) <= madeWithin {
			// A message that was muted by its button shows itself when that ends.
			say(silenceEnded, func(e *silencedEvents) bool { return one.Message == "" || fires(e) })
		}
	case moment.phase == silenceSoon && s.Soon != moment.ends:
		s.Soon = moment.ends
		say(silenceSoon, fires)
	}
	if isNew && moment.phase != silenceEnded && saysMade(one, now) {
		for _, channel := range namedBy(one) {
			if s.Channels[channel] == nil {
				s.Channels[channel] = &silencedEvents{}
			}
			news = append(news, silenceNotice(one, silenceMade, channel, s.Channels[channel], false))
		}
	}
	s.Ends = moment.ends
	return news
}

// saysMade reports whether notices may say that a silence was made: a message that was muted by its button shows that itself.
func saysMade(one *silence.Silence, now time.Time) bool {
	return one.Message == "" && now.Sub(one.CreatedAt) <= madeWithin
}

// namedBy returns the channels that a silence names: its own, and those of its matchers.
func namedBy(one *silence.Silence) []string {
	if one.Channel != "" {
		return []string{one.Channel}
	}
	for _, m := range one.Matchers {
		switch {
		case m.Field != "channel" || m.Not:
		case m.Is != nil:
			return []string{*m.Is}
		case len(m.In) > 0:
			return slices.Compact(slices.Sorted(slices.Values(m.In[:min(len(m.In), maxSilenceChannels)])))
		}
	}
	return nil
}

// silenceNotice returns a notice of a silence for a channel.
func silenceNotice(one *silence.Silence, phase, channel string, muted *silencedEvents, early bool) notifier.Notice {
	id := "silence:" + one.ID + ":" + phase
	if phase == silenceSoon {
		id += fmt.Sprintf(":%d", one.EndsAt.Unix())
	}
	return notifier.Notice{
		ID: id, Channel: channel, Text: "silence " + phase + " by " + one.Author,
		Silence: &notifier.SilenceNotice{
			Phase: phase, Author: one.Author, Reason: one.Reason, Matchers: one.Matchers, StartsAt: one.StartsAt, EndsAt: one.EndsAt,
			MadeAt: one.CreatedAt, Muted: muted.Muted, Firing: int64(len(muted.Firing)), AtLeast: len(muted.Firing) >= maxSilenceFiring,
			Early: early,
		},
	}
}
