package problem_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/problem"
)

// step is an event in a history.
type step struct {
	at       int // seconds
	source   int // of which source of the inhibition; 0 = of the alert itself
	resolved bool
	again    bool // the same event as before once more
}

// config is what a history is played with, in seconds.
type config struct{ hold, changes, within, stable, sourceTTL, releaseAfter int }

// result is what came of a history: what was said, and how the events were counted.
type result struct {
	said                             []string
	delayed, muted, merged, repeated int
}

func (r *result) say(at int, firing bool, kind string) {
	r.said = append(r.said, fmt.Sprint(at, " ", firing, " ", kind))
}

// count counts an event by its verdict.
func (r *result) count(one step, verdict problem.Verdict) {
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
	var sources kept
	id := 0
	for _, one := range history {
		for {
			wake := d.Wake(s)
			if wake == 0 || wake > int64(one.at)*us {
				break
			}
			var unheld bool
			d, unheld = s.Wake(d, wake, sources.inhibiting(c, wake, d.Subject() != nil))
			if unheld {
				r.delayed--
				r.muted++
			}
			release(int(wake / us))
			data, err := d.Encode(s)
			require.NoError(t, err)
			d, err = problem.Decode(data) // as the store keeps it
			require.NoError(t, err)
		}
		if one.source > 0 {
			sources.note(t, c, one, int64(one.at)*us)
			continue
		}
		if !one.again {
			id++
		}
		inhibiting := sources.inhibiting(c, int64(one.at)*us, !one.resolved)
		e := problem.Event{
			ID: strconv.Itoa(id), Resolved: one.resolved, Data: []byte(strconv.Itoa(id)), Hold: time.Duration(c.hold) * time.Second,
			Inhibition: inhibiting.Inhibition, Source: inhibiting.Source,
		}
		var verdict problem.Verdict
		d, verdict = s.Observe(d, e, int64(one.at)*us)
		r.count(one, verdict)
		release(one.at)
	}
	return r
}

// kept is the document of the sources.
type kept struct{ problem.Sources }

func (k *kept) note(t *testing.T, c config, one step, now int64) {
	t.Helper()
	ttl := time.Duration(c.sourceTTL) * time.Second
	sources, _ := k.Note(strconv.Itoa(one.source), "Node down", !one.resolved, ttl, now)
	data, err := json.Marshal(sources)
	require.NoError(t, err)
	k.Sources, err = problem.DecodeSources(data) // as the store keeps it
	require.NoError(t, err)
}

func (k *kept) inhibiting(c config, now int64, isFiring bool) (i problem.Inhibiting) {
	if !isFiring {
		return i
	}
	end := k.End(now)
	if title, fires := k.Active("the alert", now); fires {
		i.Inhibition, i.Source, end = "n", title, now
	}
	i.ReleaseAt = end + (time.Duration(c.releaseAfter) * time.Second).Microseconds()
	return i
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

	inhibited   bool        // a firing that was muted waits for the end of the sources
	sources     map[int]int // when each is forgotten
	sourceEnded int         // the last of them
}

func modelled(c config, history []step) result {
	m := &model{config: c, heldSince: -1, quietSince: -1, sources: map[int]int{}}
	next := 0
	for now := 0; next < len(history); now++ {
		m.timers(now)
		for next < len(history) && history[next].at == now {
			if history[next].source > 0 {
				m.sourceEvent(now, history[next])
			} else {
				m.event(now, history[next])
			}
			next++
		}
	}
	return m.result
}

func (m *model) timers(now int) {
	switch {
	case m.heldSince >= 0 && now == m.heldSince+m.hold && m.sourceFires(now):
		m.heldSince, m.inhibited = -1, true
		m.delayed--
		m.muted++
	case m.inhibited && !m.sourceFires(now) && now >= m.sourceEnded+m.releaseAfter:
		m.inhibited, m.told = false, true
		m.say(now, true, "made")
		m.changed(now)
	case m.heldSince >= 0 && now == m.heldSince+m.hold:
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

// sourceFires reports whether a source fires, and notes when those ended that are forgotten.
func (m *model) sourceFires(now int) (fires bool) {
	for _, until := range m.sources {
		if until > now {
			fires = true
		} else {
			m.sourceEnded = max(m.sourceEnded, until)
		}
	}
	return fires
}

func (m *model) sourceEvent(now int, one step) {
	until, known := m.sources[one.source]
	switch {
	case one.resolved && !known:
		return
	case !one.resolved && known && 10*(now+m.sourceTTL-until) < m.sourceTTL: // nearly as good
		return
	}
	m.sourceFires(now)
	maps.DeleteFunc(m.sources, func(_, until int) bool { return until <= now })
	if one.resolved {
		delete(m.sources, one.source)
		m.sourceEnded = now
	} else {
		m.sources[one.source] = now + m.sourceTTL
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
	if one.again && (m.heldSince >= 0 || m.inhibited || m.quietSince >= 0 || m.hushed) {
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
	case m.inhibited:
		m.inhibited, m.hushed = !one.resolved, one.resolved
		m.muted++
	case one.resolved && m.hushed:
		m.muted++
	case one.resolved:
		m.told = false
		m.say(now, false, "passed")
		if was && m.changed(now) {
			m.began = true
			m.say(now, true, "made")
		}
	case m.sourceFires(now):
		m.inhibited, m.hushed = !m.told, false
		m.muted++
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

func TestHistoriesWithInhibitionsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for n := range histories() {
		source := rand.New(rand.NewPCG(uint64(n), 2))
		c := config{
			hold: source.IntN(3) * source.IntN(40), changes: []int{0, 2, 4}[source.IntN(3)], within: 1 + source.IntN(120),
			stable: 1 + source.IntN(90), sourceTTL: 1 + source.IntN(200),
			releaseAfter: 5 + source.IntN(2)*source.IntN(200), // sooner, it is released at the next look, and those are 5 seconds apart
		}
		var history []step
		var last *step
		at := 0
		for range 1 + source.IntN(80) {
			at += source.IntN(3) * source.IntN(30)
			one := step{at: at, source: max(0, source.IntN(5)-2), resolved: source.IntN(2) == 0}
			if one.source == 0 {
				if last != nil && source.IntN(5) == 0 {
					one.resolved, one.again = last.resolved, true
				}
				last = &one
			}
			history = append(history, one)
		}
		require.Equal(t, modelled(c, history), played(t, c, history), "history %d: %+v %+v", n, c, history)
	}
}
