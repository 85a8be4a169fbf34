package problem_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/problem"
)

// step is an event of one alert in a history, or the end of the history.
type step struct {
	at       int // seconds
	resolved bool
	again    bool // the same event as before once more
}

// config is what a history is played with, in seconds.
type config struct{ hold, changes, within, stable int }

// result is what came of a history: what was said, and how the events were counted.
type result struct {
	said                             []string
	delayed, muted, merged, repeated int
}

func (r *result) say(at int, firing bool, kind string) {
	r.said = append(r.said, fmt.Sprint(at, " ", firing, " ", kind))
}

// played plays a history on the functions under test.
func played(t *testing.T, c config, history []step) result {
	t.Helper()
	s := problem.Settings{Flapping: problem.Flapping{
		Changes: c.changes, Within: time.Duration(c.within) * time.Second, Stable: time.Duration(c.stable) * time.Second,
	}}
	var r result
	var d problem.Document
	const us = int64(time.Second / time.Microsecond)
	release := func(at int) {
		if d.Out != nil {
			r.say(at, d.Out.Firing, map[bool]string{true: "made", false: "held"}[d.Out.Made])
			if !d.Out.Made {
				r.delayed--
			}
			d = d.Finish()
		}
	}
	id := 0
	for _, one := range history {
		for {
			wake := d.Wake(s)
			if wake == 0 || wake > int64(one.at)*us {
				break
			}
			d, _ = s.Wake(d, wake, problem.Inhibiting{})
			release(int(wake / us))
			data, err := d.Encode(s)
			require.NoError(t, err)
			d, err = problem.Decode(data) // as the store keeps it
			require.NoError(t, err)
		}
		if !one.again {
			id++
		}
		e := problem.Event{
			ID: strconv.Itoa(id), Resolved: one.resolved, Data: []byte(strconv.Itoa(id)), Hold: time.Duration(c.hold) * time.Second,
		}
		var verdict problem.Verdict
		d, verdict = s.Observe(d, e, int64(one.at)*us)
		switch verdict.Action {
		case problem.Pass:
			r.say(one.at, !one.resolved, "passed")
		case problem.Hold:
			r.delayed++
		case problem.Mute:
			r.muted++
		case problem.Merge:
			r.merged++
		case problem.Duplicate:
			r.repeated++
		}
		if verdict.Unheld {
			r.delayed--
			r.muted++
		}
		release(one.at)
	}
	return r
}

// model is a second opinion: it walks through the seconds, and knows no documents.
type model struct {
	config
	result
	firing, told bool  // the present state; a firing that was passed on
	heldSince    int   // -1 = nothing is held
	quietSince   int   // the last change while it flaps; -1 = it does not
	changedAt    []int // all changes that were passed on since it was stable
	hushed       bool  // the last firing was never said
	began        bool  // the newest event passed, and it began to flap with it
}

func modelled(c config, history []step) result {
	m := &model{config: c, heldSince: -1, quietSince: -1}
	next := 0
	for now := 0; next < len(history); now++ {
		m.timers(now)
		for next < len(history) && history[next].at == now {
			m.event(now, history[next])
			next++
		}
	}
	return m.result
}

func (m *model) timers(now int) {
	if m.heldSince >= 0 && now == m.heldSince+m.hold {
		m.heldSince = -1
		m.delayed--
		m.told = true
		m.say(now, true, "held")
		m.changed(now)
	}
	if m.quietSince >= 0 && now == m.quietSince+m.stable {
		m.quietSince = -1
		m.told = m.firing
		m.say(now, m.firing, "made")
	}
}

// changed reports whether a change makes the alert flap.
func (m *model) changed(now int) bool {
	if m.changes == 0 {
		return false
	}
	m.changedAt = append(m.changedAt, now)
	recent := 0
	for _, at := range m.changedAt {
		if now-at < m.within {
			recent++
		}
	}
	if recent < m.changes {
		return false
	}
	m.changedAt, m.quietSince = nil, now
	return true
}

func (m *model) event(now int, one step) { //nolint:cyclop // all that an event can be, in one list
	if one.again && m.began && m.quietSince >= 0 { // the limiter knows whether it was said
		m.say(now, !one.resolved, "passed")
		return
	}
	if one.again && (m.heldSince >= 0 || m.quietSince >= 0 || m.hushed) {
		m.repeated++
		return
	}
	was := m.firing
	m.began = false
	m.firing = !one.resolved
	switch {
	case m.quietSince >= 0:
		m.merged++
		if was != m.firing {
			m.quietSince = now
		}
	case m.heldSince >= 0 && one.resolved:
		m.heldSince, m.hushed = -1, true
		m.delayed--
		m.muted += 2
	case m.heldSince >= 0:
		m.merged++
	case one.resolved && m.hushed:
		m.muted++
	case one.resolved:
		m.told = false
		m.say(now, false, "passed")
		if was && m.changed(now) {
			m.began = true
			m.say(now, true, "made")
		}
	case m.told:
		m.say(now, true, "passed")
	case m.hold > 0:
		m.heldSince, m.hushed = now, false
		m.delayed++
	default:
		m.told, m.hushed = true, false
		m.say(now, true, "passed")
		if !was {
			m.began = m.changed(now)
		}
	}
}

// histories is how many are played. SOAK_HISTORIES sets another number: make soak plays 100,000.
func histories() int {
	if n, err := strconv.Atoi(os.Getenv("SOAK_HISTORIES")); err == nil { //nolint:forbidigo // how long to test is not a setting of the relay
		return n
	}
	return 3_000
}

func TestHistoriesOfHoldAndFlappingAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for n := range histories() {
		source := rand.New(rand.NewPCG(uint64(n), 1))
		c := config{
			hold: source.IntN(3) * source.IntN(40), changes: []int{0, 2, 3, 4, 6}[source.IntN(5)], within: 1 + source.IntN(120),
			stable: 1 + source.IntN(90),
		}
		var history []step
		at := 0
		for range 1 + source.IntN(60) {
			at += source.IntN(3) * source.IntN(30)
			one := step{at: at, resolved: source.IntN(2) == 0}
			if len(history) > 0 && source.IntN(5) == 0 {
				one.resolved, one.again = history[len(history)-1].resolved, true
			}
			history = append(history, one)
		}
		require.Equal(t, modelled(c, history), played(t, c, history), "history %d: %+v %+v", n, c, history)
	}
}
