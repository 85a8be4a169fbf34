package problem

import (
	"strconv"
	"time"

	"slackrelay/events"
)

// Alert is the document of an alert that its sender posts again and again while it fires, as Prometheus does with an Alertmanager.
// It fires until its end, which each post moves. The first post and the end are events; the posts between them are none.
type Alert struct {
	// Event is the last post, decoded. Its fingerprint and StartedAt identify this occurrence of the alert.
	Event        events.Event      `json:"event"`
	Sender       string            `json:"sender,omitempty"` // the name of the credential
	Annotations  map[string]string `json:"annotations,omitempty"`
	Group        string            `json:"group,omitempty"` // of the event, which does not keep it
	GeneratorURL string            `json:"generator_url,omitempty"`
	EndsAt       time.Time         `json:"ends_at"`           // until then it fires unless it is posted again
	Assumed      bool              `json:"assumed,omitempty"` // the sender gave no end
	UpdatedAt    time.Time         `json:"updated_at"`        // of the last post
	State        AlertState        `json:"state"`
	// Muted means that a rule or a silence muted the firing: it is passed on as soon as nothing mutes it any more.
	Muted bool `json:"muted,omitempty"`
	// Unsaid means that the alert expired and its event was not passed on yet. A post must pass that event on first.
	Unsaid bool `json:"unsaid,omitempty"`
	// Again counts how often the alert fired again with the same start, after it was resolved.
	Again int `json:"again,omitempty"`
}

// AlertState is the state of an alert.
type AlertState string

// States of an alert.
const (
	AlertFiring   AlertState = "firing"
	AlertResolved AlertState = "resolved" // its sender said so
	AlertExpired  AlertState = "expired"  // its end passed without another post
)

const (
	// settle is how long after a resolve a firing that began before it is ignored: another one of several equal senders has
	// not noticed the resolve yet. If it goes on, a later post is a firing.
	settle = time.Minute
	// maxAlertGrace bounds how long after an outage a sender has to post an alert again.
	maxAlertGrace = 5 * time.Minute
)

// Keep is how long the document of an alert is kept after its last change: longer than senders repeat a resolve, which is
// 15 minutes in Prometheus.
const (
	keepResolvedAlert = time.Hour
	keepFiringAlert   = 24 * time.Hour
)

// PostAlert returns what becomes of an alert by a post. old is the document so far; nil = there is none. The Event, the annotations and
// the end of posted are those of the post. news reports whether the event of the result must be passed on: it is a firing or a
// resolve, with an id that is the same wherever and however often it is decided. changed reports whether the result must be saved.
//
// A post of an alert that fires moves its end, never backwards unless the old end was assumed. As in an Alertmanager, posts of
// several equal senders are one alert, which is resolved as soon as one of them says so.
func PostAlert(old *Alert, posted Alert, now time.Time) (next Alert, news, changed bool) {
	posted.UpdatedAt = now
	posted.State = AlertFiring
	if !posted.EndsAt.After(now) {
		posted.State = AlertResolved
	}
	switch {
	case old == nil:
		return posted.occurrence(0), true, true
	case old.State == AlertFiring && posted.State == AlertFiring:
		return old.refreshed(posted), false, true
	case old.State == AlertFiring:
		// The resolve of an earlier occurrence. Some senders give the end in whole seconds, and the start more precisely.
		if posted.EndsAt.Before(old.Event.StartedAt.Truncate(time.Second)) {
			return *old, false, false
		}
		next = old.refreshed(posted)
		next.EndsAt = posted.EndsAt
		return next.as(AlertResolved), !old.Muted, true
	case posted.State == AlertResolved: // the firing between them never arrived here, unless the store was unavailable
		if !posted.Event.StartedAt.After(old.EndsAt) {
			return *old, false, false
		}
		return posted.occurrence(0), true, true
	default:
		return old.firesAgain(posted, now)
	}
}

// firesAgain returns what becomes of an alert that ended, by the post of a firing.
func (a Alert) firesAgain(posted Alert, now time.Time) (next Alert, news, changed bool) {
	if posted.Event.StartedAt.After(a.EndsAt) {
		return posted.occurrence(0), true, true
	}
	if a.State == AlertResolved && now.Before(a.UpdatedAt.Add(settle)) {
		return a, false, false
	}
	posted.Event.StartedAt = a.Event.StartedAt
	return posted.occurrence(a.Again + 1), true, true
}

// Unmuted returns the alert as a firing that nothing mutes any more.
func (a Alert) Unmuted() Alert {
	a.Muted = false
	return a
}

// refreshed returns an alert with the texts of a later post, and the later of the two ends.
func (a Alert) refreshed(posted Alert) Alert {
	posted.Event.StartedAt = a.Event.StartedAt
	if a.EndsAt.After(posted.EndsAt) && !a.Assumed {
		posted.EndsAt = a.EndsAt
		posted.Assumed = a.Assumed
	}
	posted.Muted = a.Muted
	return posted.occurrence(a.Again)
}

// occurrence returns the alert as its n-th occurrence with the same start.
func (a Alert) occurrence(n int) Alert {
	a.Again = n
	return a.as(a.State)
}

// as returns the alert in a state, with the event of that state.
func (a Alert) as(state AlertState) Alert {
	a.State = state
	a.Event.Status = events.Firing
	if state != AlertFiring {
		a.Event.Status = events.Resolved
	}
	a.Event.ID = a.Event.Fingerprint + ":" + string(a.Event.Status) + ":" + a.Event.StartedAt.UTC().Format(time.RFC3339Nano)
	if a.Again > 0 {
		a.Event.ID += "#" + strconv.Itoa(a.Again)
	}
	return a
}

// Expire returns what becomes of an alert at now. since is when the interruption ended that the caller knows of, in which posts may
// have been lost; zero = none. Where it ended after the last post, the sender gets as much time to post again as it gave the alert.
// If the alert ended, the result is [Alert.Unsaid], unless the firing was muted: it must be saved first, so that no post is missed,
// and then its event passed on. wake is when to ask again; zero = never.
func (a Alert) Expire(now, since time.Time) (next Alert, wake time.Time) {
	if a.State != AlertFiring {
		return a.Said(), time.Time{}
	}
	due := a.EndsAt
	if since.After(a.UpdatedAt) {
		grace := min(a.EndsAt.Sub(a.UpdatedAt), maxAlertGrace)
		if heard := since.Add(grace); heard.After(due) {
			due = heard
		}
	}
	if now.Before(due) {
		return a, due
	}
	next = a.as(AlertExpired)
	if !a.Muted {
		next.Unsaid = true
		wake = now
	}
	return next, wake
}

// Said returns the alert with its event passed on.
func (a Alert) Said() Alert {
	a.Unsaid = false
	return a
}

// Wake returns when the alert may end; zero = it has ended.
func (a Alert) Wake() time.Time {
	if a.State != AlertFiring {
		return time.Time{}
	}
	return a.EndsAt
}

// Keep returns how long the document is kept without another change.
func (a Alert) Keep() time.Duration {
	if a.State != AlertFiring {
		return keepResolvedAlert
	}
	return max(keepFiringAlert, a.EndsAt.Sub(a.UpdatedAt)+keepResolvedAlert)
}

// Fires reports whether the alert fires at a time, so that lists show it.
func (a Alert) Fires(now time.Time) bool { return a.State == AlertFiring && a.EndsAt.After(now) }
