package multi_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

// oracle decides by brute force: it keeps every request, and recounts them for each question.
type oracle struct {
	now   time.Time
	tried []try
}

// try is one request. A window begins with the first one, admitted or not.
type try struct {
	at    time.Time
	id    string
	units int64 // 0 = it was not admitted
	keys  []string
}

// left is how many units fit into a window at a time, if nothing else happens until then.
func (o *oracle) left(level ratelimit.Level, w ratelimit.Window, at time.Time) int64 {
	var began time.Time
	if level.Strategy.Kind == multi.PerSecond {
		began = at.Truncate(time.Second)
	}
	n := int64(0)
	for _, t := range o.tried {
		if !slices.Contains(t.keys, level.Key) {
			continue
		}
		if level.Strategy.Kind != multi.PerSecond && !t.at.Before(began.Add(w.Per)) {
			began, n = t.at, 0
		}
		if !t.at.Before(began) {
			n += t.units
		}
	}
	if level.Strategy.Kind != multi.PerSecond && !at.Before(began.Add(w.Per)) {
		n = 0
	}
	return w.Limit - n
}

func (o *oracle) fits(r ratelimit.Request, at time.Time) bool {
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			if o.left(level, w, at) < r.N {
				return false
			}
		}
	}
	return true
}

func (o *oracle) decide(r ratelimit.Request) string {
	t := try{at: o.now, id: r.ID}
	for _, level := range r.Levels {
		t.keys = append(t.keys, level.Key)
	}
	outcome := o.outcome(r)
	if outcome == "+" {
		t.units = r.N
	}
	o.tried = append(o.tried, t)
	return outcome
}

func (o *oracle) outcome(r ratelimit.Request) string {
	for _, t := range o.tried {
		if t.id == r.ID && t.units > 0 && t.at.After(o.now.Add(-time.Hour)) {
			return "="
		}
	}
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			if r.N > w.Limit {
				return "!"
			}
		}
	}
	if !o.fits(r, o.now) {
		return "-"
	}
	return "+"
}

// history is one random course of requests, to a limiter and to the oracle.
type history struct {
	bundle
	o        *oracle
	group    string
	channel  ratelimit.LevelSpec
	category ratelimit.LevelSpec
	refused  int
	asked    int
}

func newHistory(rt *rapid.T, b bundle, kind ratelimit.StrategyKind, group string) *history {
	tier := func(name string, most int64) ratelimit.LevelSpec {
		tier := ratelimit.LevelSpec{Name: name, Strategy: ratelimit.Strategy{Kind: kind}}
		lengths := []time.Duration{time.Second}
		if kind != multi.PerSecond {
			lengths = rapid.SampledFrom([][]time.Duration{
				{500 * time.Millisecond}, {time.Second}, {time.Second, 2 * time.Second}, {1500 * time.Millisecond, 500 * time.Millisecond},
			}).Draw(rt, name+" lengths")
		}
		for _, per := range lengths {
			tier.Windows = append(tier.Windows, ratelimit.Window{Limit: rapid.Int64Range(0, most).Draw(rt, name+" limit"), Per: per})
		}
		return tier
	}
	return &history{
		bundle: b, o: &oracle{now: b.now()}, group: group,
		channel: tier("channel", 7), category: tier("category", 5),
	}
}

func (h *history) request(rt *rapid.T) ratelimit.Request {
	category := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "category")
	return ratelimit.Request{
		ID:     fmt.Sprint(h.group, "-", rapid.IntRange(0, 60).Draw(rt, "id")),
		N:      rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(rt, "units"),
		Levels: []ratelimit.Level{levelOf(h.channel, h.group), levelOf(h.category, h.group+"-"+category)},
	}
}

func (h *history) step(rt *rapid.T) {
	pause := rapid.SampledFrom([]time.Duration{
		0, 0, time.Millisecond, 137 * time.Millisecond, 499 * time.Millisecond, 500 * time.Millisecond, time.Second, 30 * time.Minute,
	}).Draw(rt, "pause")
	h.advance(pause)
	h.o.now = h.o.now.Add(pause)
	batch := make([]ratelimit.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
	for i := range batch {
		batch[i] = h.request(rt)
	}
	got, err := h.Admit(rt.Context(), batch)
	require.NoError(rt, err)
	for i, r := range batch {
		require.Equal(rt, h.o.decide(r), outcomeOf(got[i]), "request %d of %d", i, len(batch))
		h.check(rt, r, got[i])
	}
}

// check compares what is left of each window, and the retry time.
func (h *history) check(rt *rapid.T, r ratelimit.Request, d ratelimit.Decision) {
	h.asked++
	if d.Duplicate {
		return
	}
	i := 0
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			require.Equal(rt, max(0, h.o.left(level, w, h.o.now)), d.Remaining[i].Free, "%s, %d per %s", level.Name, w.Limit, w.Per)
			i++
		}
	}
	if outcomeOf(d) != "-" {
		return
	}
	h.refused++
	require.Positive(rt, d.RetryAfter)
	require.True(rt, h.o.fits(r, h.o.now.Add(d.RetryAfter)), "it fits at the retry time")
	require.False(rt, h.o.fits(r, h.o.now.Add(d.RetryAfter-time.Millisecond)), "and not a millisecond before")
}

// decisions is how many random decisions are compared for each engine and strategy; make soak raises it.
func decisions(standard int) int {
	n, err := strconv.Atoi(os.Getenv("SOAK_DECISIONS")) //nolint:forbidigo // how long to test is no configuration of the product
	if err != nil {
		return standard
	}
	return n
}

func TestMultiAgainstTheOracle(t *testing.T) {
	t.Parallel()
	for _, kind := range []ratelimit.StrategyKind{ratelimit.FixedWindow, multi.PerSecond} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			onEvery(t, func(t *testing.T, b bundle) {
				asked, refused, histories := 0, 0, 0
				for want := decisions(1_500); asked < want; {
					rapid.Check(t, func(rt *rapid.T) {
						histories++ // each has a limit group of its own
						b.forget()
						h := newHistory(rt, b, kind, fmt.Sprint("group-", histories))
						for range rapid.IntRange(5, 25).Draw(rt, "steps") {
							h.step(rt)
						}
						asked, refused = asked+h.asked, refused+h.refused
					})
				}
				require.Positive(t, refused)
				t.Logf("%d decisions, %d of them refusals", asked, refused)
			})
		})
	}
}
