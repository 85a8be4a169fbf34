package problem

import (
	"slices"
	"time"
)

// Heartbeat is what a sender promises: to send a sign of life, a beat, in every period of this length. It has nothing to do with the
// heartbeats of replicas in package ratelimit/replica.
type Heartbeat struct {
	Name  string
	Every time.Duration // at least one beat is expected in this time
	Grace time.Duration // how late a beat may be
}

// HeartbeatState is the document of a heartbeat. A heartbeat is missing if no beat arrived for Every and Grace of watched time,
// see [Watch]. If there was a gap since the last beat, that time is longer by one Every, because a beat may have been lost in it.
type HeartbeatState struct {
	Made    int64           `json:"made"`              // when the document was made, store time
	Seen    int64           `json:"seen,omitempty"`    // the last beat, store time; 0 = there was none
	From    int64           `json:"from"`              // watched time from which the next beat is expected
	Watch   int64           `json:"watch"`             // [Watch].Since: From means nothing in another watch
	Gaps    int64           `json:"gaps,omitempty"`    // [Watch].Gaps at From
	Late    bool            `json:"late,omitempty"`    // the wake-up came late once since the last beat
	Missing int64           `json:"missing,omitempty"` // since when the heartbeat is missing, store time; 0 = it is not
	News    []HeartbeatNews `json:"news,omitempty"`    // what is not posted yet, in order
}

// HeartbeatNews is a change that people must learn of. Times are the store's.
type HeartbeatNews struct {
	Back    bool  `json:"back,omitempty"` // the heartbeat is back; false = it is missing
	At      int64 `json:"at"`             // when it was found missing, or the beat that brought it back
	Seen    int64 `json:"seen,omitempty"` // the last beat before; 0 = there was none
	Missing int64 `json:"missing"`        // since when it is missing, or was
	Made    int64 `json:"made"`           // since when the heartbeat is expected
}

const (
	// maxNews bounds what is not posted yet. It is even: news of missing and back alternate, and two are forgotten at a time.
	maxNews = 8
	// announceAgain is how long a replica has to post news before another one does.
	announceAgain = 5 * time.Second
	// missingAgain is the time between two looks at a missing heartbeat, which keep its document.
	missingAgain = 24 * time.Hour
	// exact is by how much a wake-up may differ from the time that it should have, in microseconds.
	exact = int64(time.Second / time.Microsecond)
)

// NewState returns the document of a heartbeat that is expected from now on.
func (h Heartbeat) NewState(w Watch, now int64) HeartbeatState {
	return HeartbeatState{Made: now, From: w.Clock(now), Watch: w.Since, Gaps: w.Gaps}
}

// Beat returns the document after a beat that arrived at a time, which may have passed while the store was away.
func (h Heartbeat) Beat(s HeartbeatState, w Watch, now, at int64) HeartbeatState {
	if at <= s.Seen && s.Seen <= now {
		return s
	}
	before := s.Seen
	s.Seen = at
	if at+h.period() <= now { // it is too old: the next beat is due already
		return s
	}
	s.From = w.Clock(at)
	s.Watch = w.Since
	s.Gaps = w.Gaps
	s.Late = false
	if s.Missing != 0 {
		s.addNews(HeartbeatNews{Back: true, At: at, Seen: before, Missing: s.Missing, Made: s.Made})
		s.Missing = 0
	}
	return s
}

// Check returns the document after a look at it: the heartbeat is missing if it is due. A look that is late by more than [MaxGap]
// although somebody watched means that this document could not be reached; the heartbeat then has a new period, once.
func (h Heartbeat) Check(s HeartbeatState, w Watch, now int64) HeartbeatState {
	if s.Missing != 0 {
		return s
	}
	watched := w.Clock(now)
	late := watched - h.due(s, w)
	switch {
	case s.Watch != w.Since, late > MaxGap.Microseconds() && !s.Late:
		s.Late = s.Watch == w.Since
		s.From = watched
		s.Watch = w.Since
		s.Gaps = w.Gaps
	case s.From > watched: // it was written in the knowledge of an older watch
		s.From = watched
	case late >= 0:
		s.Missing = now
		s.addNews(HeartbeatNews{At: now, Seen: s.Seen, Missing: now, Made: s.Made})
	}
	return s
}

// KeepsWake reports whether a document may keep the wake-up that it has; 0 = it has none.
func (h Heartbeat) KeepsWake(s HeartbeatState, w Watch, now, wake int64) bool {
	if s.Missing != 0 || len(s.News) > 0 {
		return wake > now
	}
	differs := h.Wake(s, w, now) - wake
	return max(differs, -differs) <= exact
}

// Shortened reports whether the wake-up of a document was set for longer terms than the present ones. The document must be as it
// was stored: a beat changes when it should wake, too.
func (h Heartbeat) Shortened(s HeartbeatState, w Watch, now, wake int64) bool {
	return s.Missing == 0 && len(s.News) == 0 && s.Watch == w.Since && h.Wake(s, w, now) < wake-exact
}

// Renew returns the document with a new period, so that a sender that follows former terms is not missing at once.
func (h Heartbeat) Renew(s HeartbeatState, w Watch, now int64) HeartbeatState {
	s.From = w.Clock(now)
	return s
}

// Wake returns when to look at a document again, in the store's time. A document whose news are not posted is looked at soon.
func (h Heartbeat) Wake(s HeartbeatState, w Watch, now int64) int64 {
	switch {
	case len(s.News) > 0:
		return now + announceAgain.Microseconds()
	case s.Missing != 0:
		return now + missingAgain.Microseconds()
	default:
		return w.Time(h.due(s, w))
	}
}

// Expected returns when the next beat is expected at the latest, in the store's time; 0 while the heartbeat is missing.
func (h Heartbeat) Expected(s HeartbeatState, w Watch) int64 {
	if s.Missing != 0 {
		return 0
	}
	return w.Time(h.due(s, w))
}

// Coalesce is the time within which a further beat need not be written.
func (h Heartbeat) Coalesce() time.Duration { return min(h.Every/10, h.Grace/2) }

// period is the longest time between two beats.
func (h Heartbeat) period() int64 { return (h.Every + h.Grace).Microseconds() }

// due returns when the heartbeat is missing, in watched time.
func (h Heartbeat) due(s HeartbeatState, w Watch) int64 {
	due := s.From + h.period()
	if s.Gaps != w.Gaps {
		due += h.Every.Microseconds()
	}
	return due
}

// addNews appends news, and forgets the oldest two where there are too many: the channel has refused them for long.
func (s *HeartbeatState) addNews(news HeartbeatNews) {
	all := append(slices.Clip(s.News), news)
	if len(all) > maxNews {
		all = all[2:]
	}
	s.News = all
}
