package problem_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/problem"
)

// reminded is a history of one message, in seconds; none = it does not happen.
type reminded struct {
	after, every          int
	posted, resolved      int
	acknowledged, undone  int
	mutedFrom, mutedUntil int
	away, back            int // the store is away in between
	refusals, refusalFits int // how often the limits refuse a reminder, and when it could fit
	dies                  int // how often the replica dies that makes a reminder
	lastSecond            int
}

// remindersOf plays a history on the functions under test, second by second.
func remindersOf(t *testing.T, h reminded) (said []int) {
	t.Helper()
	const us = int64(time.Second / time.Microsecond)
	s := problem.Reminders{After: time.Duration(h.after) * time.Second, Every: time.Duration(h.every) * time.Second}
	d := s.Expect(0)
	needed := true
	for now := 0; now <= h.lastSecond && needed; now++ {
		if now >= h.away && now < h.back || d.Wakes() == 0 || d.Wakes() > int64(now)*us {
			continue
		}
		m := problem.Reminded{
			Posted: now >= h.posted, Acknowledged: now >= h.acknowledged && now < h.undone,
			Muted: now >= h.mutedFrom && now < h.mutedUntil,
		}
		if now < h.resolved {
			m.Firing = 1
		}
		var say bool
		d, say, needed = s.Wake(d, m, int64(now)*us)
		switch {
		case !say:
		case h.dies > 0:
			h.dies--
		case h.refusals > 0:
			h.refusals--
			d = s.Refused(d, time.Duration(h.refusalFits)*time.Second, int64(now)*us)
		default:
			said = append(said, now)
			d = s.Said(d, int64(now)*us)
		}
		data, err := json.Marshal(d) // as the store keeps it
		require.NoError(t, err)
		d, err = problem.DecodeReminder(data)
		require.NoError(t, err)
	}
	return said
}

const none = 1 << 30

// plain is a history in which nothing happens.
func plain() reminded {
	return reminded{
		after: 600, resolved: none, acknowledged: none, undone: none, mutedFrom: none, mutedUntil: none, away: none, back: none,
		lastSecond: 20_000,
	}
}

func TestPeopleAreRemindedOfWhatStillFires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *reminded)
		said   []int
	}{
		"once":                            {func(*reminded) {}, []int{600}},
		"again and again":                 {func(h *reminded) { h.every = 3600 }, []int{600, 4200, 7800, 11_400, 15_000, 18_600}},
		"at most ten times":               {func(h *reminded) { h.every = 60 }, []int{600, 660, 720, 780, 840, 900, 960, 1020, 1080, 1140}},
		"resolved":                        {func(h *reminded) { h.resolved = 600 }, nil},
		"resolved after the first":        {func(h *reminded) { h.every, h.resolved = 3600, 5000 }, []int{600, 4200}},
		"acknowledged":                    {func(h *reminded) { h.acknowledged = 599 }, nil},
		"acknowledged after the first":    {func(h *reminded) { h.every, h.acknowledged = 3600, 601 }, []int{600}},
		"acknowledged by mistake":         {func(h *reminded) { h.acknowledged, h.undone = 599, 700 }, []int{1200}},
		"muted for a while":               {func(h *reminded) { h.mutedFrom, h.mutedUntil = 300, 3900 }, []int{4200}},
		"posted late":                     {func(h *reminded) { h.posted = 1000 }, []int{1620}},
		"the limits refuse it twice":      {func(h *reminded) { h.refusals, h.refusalFits = 2, 900 }, []int{2400}},
		"a replica dies while it reminds": {func(h *reminded) { h.dies = 2 }, []int{610}},
		"the store is away":               {func(h *reminded) { h.away, h.back = 500, 5000 }, []int{5005}},
		"resolved while the store is away": {func(h *reminded) {
			h.away, h.back, h.resolved = 500, 5000, 5003 // a replica reports it then
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := plain()
			c.change(&h)
			require.Equal(t, c.said, remindersOf(t, h))
		})
	}
}

func TestNobodyIsRemindedMoreOftenThanAsked(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 17))
		h := plain()
		pick := func(n int) int { return random.IntN(n) }
		h.after = 1 + pick(900)
		h.every = pick(2) * (1 + pick(2000))
		h.posted = pick(2) * pick(1500)
		if pick(2) == 0 {
			h.resolved = pick(20_000)
		}
		if pick(2) == 0 {
			h.acknowledged = pick(20_000)
			if pick(2) == 0 {
				h.undone = h.acknowledged + pick(2000)
			}
		}
		if pick(2) == 0 {
			h.mutedFrom = pick(9000)
			h.mutedUntil = h.mutedFrom + pick(9000)
		}
		if pick(2) == 0 {
			h.away = pick(9000)
			h.back = h.away + pick(9000)
		}
		h.refusals, h.refusalFits, h.dies = pick(3), pick(2000), pick(3)
		said := remindersOf(t, h)
		what := fmt.Sprintf("seed %d: %+v: %v", seed, h, said)
		require.LessOrEqual(t, len(said), problem.MaxReminders, what)
		if h.every == 0 {
			require.LessOrEqual(t, len(said), 1, what)
		}
		for i, at := range said {
			require.True(t, at < h.resolved && (at < h.acknowledged || at >= h.undone), what)
			require.False(t, at >= h.mutedFrom && at < h.mutedUntil, what)
			require.False(t, at >= h.away && at < h.back, what)
			require.GreaterOrEqual(t, at, h.after, what)
			require.GreaterOrEqual(t, at, h.posted, what)
			require.True(t, i == 0 || at-said[i-1] >= h.every, what)
		}
		open := min(h.resolved, h.acknowledged, h.lastSecond)
		settled := max(h.posted+60, h.mutedUntil%none, h.back%none) + (2+h.refusals)*max(h.after, h.refusalFits) + 100
		require.True(t, len(said) > 0 || open < settled+h.after, what)
	}
}

func TestARepeatTakesOverTheReminderOfItsAlert(t *testing.T) {
	t.Parallel()
	s := problem.Reminders{After: 10 * time.Minute}
	minute := time.Minute.Microseconds()
	first := s.Expect(0)
	again := s.Continue(first, 0, 5*minute)
	require.Equal(t, 10*minute, again.Wakes(), "the alert fires since the first message")
	claimed, say, _ := s.Wake(again, problem.Reminded{Firing: 1, Posted: true}, 10*minute)
	require.True(t, say)
	for name, d := range map[string]problem.Reminder{
		"the reminder itself":         s.Continue(claimed, 1, 10*minute),
		"the reminder, noted before":  s.Continue(s.Said(claimed, 10*minute), 1, 10*minute),
		"the reminder of a lost note": s.Continue(problem.Reminder{}, 1, 10*minute),
		"a repeat":                    s.Continue(s.Said(claimed, 10*minute), 0, 12*minute),
	} {
		require.Equal(t, problem.Reminder{Said: 1}, d, name)
	}
	s.Every = time.Hour
	require.Equal(t, problem.Reminder{Said: 1, Next: 70 * minute}, s.Continue(claimed, 1, 10*minute))
}
