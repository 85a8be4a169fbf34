package problem_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
	"slackrelay/problem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// at returns noon and so many seconds.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// posted returns the post of an alert with this start and end.
func posted(start, end int) problem.Alert {
	return problem.Alert{Event: events.Event{Fingerprint: "f", StartedAt: at(start)}, EndsAt: at(end)}
}

func TestPostOfAlert(t *testing.T) {
	t.Parallel()
	const firing, resolved = "f:firing:2026-11-21T12:00:00Z", "f:resolved:2026-11-21T12:00:00Z"
	type post struct {
		now    int
		alert  problem.Alert
		passed string // the id of the event; "" = none
		ends   int
	}
	for name, posts := range map[string][]post{
		"fires, is posted again, and is resolved, which is posted again": {
			{1, posted(0, 240), firing, 240},
			{61, posted(0, 300), "", 300},
			{70, posted(0, 65), resolved, 65},
			{130, posted(0, 65), "", 65},
		},
		"a resolve alone": {
			{70, posted(0, 65), resolved, 65},
			{130, posted(0, 65), "", 65},
		},
		"of equal senders is one": {
			{1, posted(0, 240), firing, 240},
			{2, posted(-30, 200), "", 240},
			{3, posted(20, 250), "", 250},
			{70, posted(-30, 65), resolved, 65},
			{71, posted(20, 310), "", 65},
			{90, posted(20, 85), "", 65},
		},
		"one of equal senders does not agree": {
			{1, posted(0, 240), firing, 240},
			{70, posted(0, 65), resolved, 65},
			{131, posted(0, 370), firing + "#1", 370},
			{200, posted(0, 195), resolved + "#1", 195},
		},
		"fires again later": {
			{1, posted(0, 240), firing, 240},
			{70, posted(0, 65), resolved, 65},
			{80, posted(75, 300), "f:firing:2026-11-21T12:01:15Z", 300},
			{81, posted(0, 65), "", 300}, // the resolve of before
		},
		"fired while nothing arrived": {
			{70, posted(0, 65), resolved, 65},
			{200, posted(100, 190), "f:resolved:2026-11-21T12:01:40Z", 190},
		},
		"an end that was assumed may come earlier": {
			{0, problem.Alert{Event: posted(0, 0).Event, EndsAt: at(300), Assumed: true}, firing, 300},
			{1, posted(0, 30), "", 30},
			{2, posted(0, 20), "", 30},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var old *problem.Alert
			for _, p := range posts {
				next, news, changed := problem.PostAlert(old, p.alert, at(p.now))
				require.Equal(t, p.passed != "", news, "at %d", p.now)
				if news {
					require.Equal(t, p.passed, next.Event.ID)
					require.True(t, changed)
				}
				require.Equal(t, at(p.ends), next.EndsAt, "at %d", p.now)
				data, err := json.Marshal(next)
				require.NoError(t, err)
				old = &problem.Alert{}
				require.NoError(t, json.Unmarshal(data, old))
			}
		})
	}
}

// amtool gives the end in whole seconds, also of an alert that began within the same second.
func TestResolveInWholeSecondsEndsAnAlertThatBeganInThatSecond(t *testing.T) {
	t.Parallel()
	firing := posted(0, 240)
	firing.Event.StartedAt = at(0).Add(117 * time.Millisecond)
	fires, _, _ := problem.PostAlert(nil, firing, at(0).Add(120*time.Millisecond))
	ended, news, _ := problem.PostAlert(&fires, posted(0, 0), at(0).Add(500*time.Millisecond))
	require.True(t, news)
	require.Equal(t, problem.AlertResolved, ended.State)

	ended, news, _ = problem.PostAlert(&fires, posted(-9, -1), at(1))
	require.False(t, news, "the resolve of an earlier occurrence")
	require.Equal(t, problem.AlertFiring, ended.State)
}

func TestAlertWhoseFiringWasMutedIsNotResolved(t *testing.T) {
	t.Parallel()
	old, news, _ := problem.PostAlert(nil, posted(0, 240), at(1))
	require.True(t, news)
	old.Muted = true
	again, news, _ := problem.PostAlert(&old, posted(0, 300), at(61))
	require.False(t, news)
	require.True(t, again.Muted)
	_, news, _ = problem.PostAlert(&again, posted(0, 65), at(70))
	require.False(t, news)
	heard := again.Unmuted()
	_, news, _ = problem.PostAlert(&heard, posted(0, 65), at(70))
	require.True(t, news)
}

func TestExpiryOfAlert(t *testing.T) {
	t.Parallel()
	alert, _, _ := problem.PostAlert(nil, posted(0, 240), at(0))
	require.Equal(t, at(240), alert.Wake())
	for name, c := range map[string]struct {
		now     int
		since   time.Time
		expired bool
		wake    int
	}{
		"too early":                            {now: 239, wake: 240},
		"at its end":                           {now: 240, expired: true},
		"after an outage before the last post": {now: 240, since: at(-5), expired: true},
		"after a short outage":                 {now: 240, since: at(100), wake: 340},
		"after an outage over its end":         {now: 900, since: at(890), wake: 1130},
		"not posted again after an outage":     {now: 1130, since: at(890), expired: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, wake := alert.Expire(at(c.now), c.since)
			require.Equal(t, c.expired, next.Unsaid)
			if !c.expired {
				require.Equal(t, at(c.wake), wake)
				return
			}
			require.Equal(t, at(c.now), wake, "its event must be passed on")
			require.Equal(t, problem.AlertExpired, next.State)
			require.Equal(t, "f:resolved:2026-11-21T12:00:00Z", next.Event.ID)
			require.Zero(t, next.Wake())
			said, wake := next.Expire(at(c.now+1000), c.since)
			require.Equal(t, next.Said(), said)
			require.Zero(t, wake)
			late, news, _ := problem.PostAlert(&next, posted(0, 65), at(c.now+1))
			require.False(t, news, "it is resolved already")
			require.Equal(t, problem.AlertExpired, late.State)
			back, news, _ := problem.PostAlert(&next, posted(0, c.now+300), at(c.now+1))
			require.True(t, news, "it fires after all")
			require.Equal(t, "f:firing:2026-11-21T12:00:00Z#1", back.Event.ID)
		})
	}
}

// A sender posts each minute an alert that fires or not, for four minutes in advance, and repeats resolves; posts get lost while the
// store is away. What is passed on alternates, no id is passed on twice, a sender that lives and fires is never resolved, and at the
// end the relay knows what the sender knows.
func TestRandomHistoriesOfAlerts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := alertHistory{t: t, r: r, ids: map[string]bool{}}
		for now := 0; now < 7200; now += 10 {
			h.step(now)
		}
	}
}

type alertHistory struct {
	t *testing.T
	r *rand.Rand

	// the sender
	fires bool
	start int
	end   int
	sent  int
	dead  bool

	away  int // until when the store is away
	since time.Time

	alert *problem.Alert
	said  events.Status
	ids   map[string]bool
}

func (h *alertHistory) step(now int) {
	h.happen(now)
	available := now >= h.away
	if available && h.away > 0 {
		h.since = at(h.away)
	}
	posts := h.fires || h.end > 0 && now-h.end < 900
	if !h.dead && posts && now-h.sent >= 60 {
		h.sent = now
		if available {
			h.post(now)
		}
	}
	if available && h.alert != nil {
		h.wake(now)
	}
}

// happen changes the world: an outage of the store, an alert that begins or ends, a sender that dies or lives again.
func (h *alertHistory) happen(now int) {
	switch {
	case h.r.IntN(60) == 0 && now > h.away && now < 5000:
		h.away = now + 10*h.r.IntN(90)
	case h.r.IntN(40) == 0 && now < 6000:
		h.fires = !h.fires
		if h.fires {
			h.start = now
		} else {
			h.end = now
		}
		h.sent = -60 // at once
	case h.r.IntN(200) == 0:
		h.dead = !h.dead
	}
}

func (h *alertHistory) post(now int) {
	p := posted(h.start, now+240)
	if !h.fires {
		p.EndsAt = at(h.end)
	}
	next, news, _ := problem.PostAlert(h.alert, p, at(now))
	h.alert = &next
	if news {
		h.pass(next)
	}
	require.Equal(h.t, h.fires, next.State == problem.AlertFiring)
}

func (h *alertHistory) wake(now int) {
	next, wake := h.alert.Expire(at(now), h.since)
	if !next.Unsaid {
		require.True(h.t, next.State != problem.AlertFiring || wake.After(at(now)))
		return
	}
	require.GreaterOrEqual(h.t, now-h.sent, 60, "the sender lives")
	h.pass(next)
	next = next.Said()
	h.alert = &next
}

func (h *alertHistory) pass(a problem.Alert) {
	require.False(h.t, h.ids[a.Event.ID], a.Event.ID)
	h.ids[a.Event.ID] = true
	if a.Event.Status == events.Firing {
		require.NotEqual(h.t, events.Firing, h.said)
	}
	h.said = a.Event.Status
}
