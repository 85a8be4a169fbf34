package ratelimit_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
)

// world is what random histories are drawn from.
type world struct {
	strategies []ratelimit.Strategy // of the channel, and of the category
	fairness   bool
	refunds    bool
	retry      bool // a drop's retry time is exact
	shadow     bool
}

// The worlds, one for each strategy, and what else has rules of its own.
var worlds = map[string]world{
	"sliding-log":           {strategies: both(ratelimit.Strategy{}), refunds: true, retry: true},
	"sliding-buckets":       {strategies: both(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond}), refunds: true, retry: true},
	"fixed-window, first":   {strategies: both(ratelimit.Strategy{Kind: ratelimit.FixedWindow}), refunds: true, retry: true},
	"fixed-window, aligned": {strategies: both(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}), refunds: true, retry: true},
	"sliding-counter":       {strategies: both(ratelimit.Strategy{Kind: ratelimit.SlidingCounter}), refunds: true, retry: true},
	"gcra":                  {strategies: both(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 3}), retry: true},
	"gate":                  {strategies: both(ratelimit.Strategy{Kind: ratelimit.Gate}), retry: true},
	"backlog, stream":       {strategies: both(ratelimit.Strategy{Kind: ratelimit.Backlog})},
	"backlog, list":         {strategies: both(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List})},
	"mixed": {retry: true, strategies: []ratelimit.Strategy{
		{},
		{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond},
		{Kind: ratelimit.FixedWindow},
		{Kind: ratelimit.SlidingCounter},
		{Kind: ratelimit.GCRA, Burst: 2},
		{Kind: ratelimit.Gate},
	}},
	"shadow":   {strategies: both(ratelimit.Strategy{}), shadow: true, retry: true},
	"fairness": {strategies: both(ratelimit.Strategy{}), fairness: true, refunds: false},
}

func both(s ratelimit.Strategy) []ratelimit.Strategy { return []ratelimit.Strategy{s} }

type tally struct{ decisions, refused, retries int }

func (t *tally) add(other tally) {
	t.decisions += other.decisions
	t.refused += other.refused
	t.retries += other.retries
}

// clocked has a clock that the test moves.
type clocked interface{ now() time.Time }

// history is one random course of events, told to an engine and to the oracle, in a group of its own.
type history struct {
	world
	o        *oracle
	scope    ratelimit.Scope
	outer    ratelimit.Tier
	inner    ratelimit.Tier
	shadowed ratelimit.Tier
	fairness *ratelimit.Fairness
	asked    []ratelimit.Request
}

func newHistory(rt *rapid.T, w world, group string, clock clocked) *history {
	h := &history{world: w, o: &oracle{now: clock.now().UnixMicro()}, scope: ratelimit.Scope{Group: group, Channel: "ch"}}
	tier := func(name string, most int64) ratelimit.Tier {
		tier := ratelimit.Tier{Name: name, Strategy: rapid.SampledFrom(w.strategies).Draw(rt, name+" strategy")}
		lengths := []int64{1, 2, 3, 4}
		for i := range rapid.IntRange(1, 2).Draw(rt, name+" windows") {
			if i > 0 && tier.Strategy.Kind == ratelimit.Backlog {
				break
			}
			per := lengths[rapid.IntRange(0, len(lengths)-1-i).Draw(rt, name+" length")]
			if i > 0 && per == int64(tier.Windows[0].Per/(500*time.Millisecond)) {
				per = lengths[len(lengths)-1]
				if per == int64(tier.Windows[0].Per/(500*time.Millisecond)) {
					break
				}
			}
			tier.Windows = append(tier.Windows, ratelimit.Window{
				Limit: rapid.Int64Range(0, most).Draw(rt, name+" limit"), Per: time.Duration(per) * 500 * time.Millisecond,
			})
		}
		return tier
	}
	h.outer, h.inner = tier("channel", 7), tier("category", 5)
	if w.shadow {
		h.shadowed = tier("sender", 3)
		h.shadowed.Shadow = true
	}
	if w.fairness {
		h.drawFairness(rt)
	}
	return h
}

func (h *history) drawFairness(rt *rapid.T) {
	h.fairness = &ratelimit.Fairness{}
	switch rapid.IntRange(0, 2).Draw(rt, "first notices") {
	case 1:
		h.fairness.FirstNotice = ratelimit.FirstNotice{
			Slots: rapid.Int64Range(1, 4).Draw(rt, "slots"), PerCategory: rapid.Int64Range(1, 2).Draw(rt, "per category"),
		}
	case 2:
		h.fairness.FirstNotice = ratelimit.FirstNotice{Auto: true, Floor: rapid.Int64Range(0, 3).Draw(rt, "floor")}
	}
	for _, category := range []string{"a", "c"} {
		if slots := rapid.Int64Range(0, 2).Draw(rt, "reserve of "+category); slots > 0 {
			h.fairness.Reserves = append(h.fairness.Reserves, ratelimit.Reserve{
				Category: category, Slots: slots, Level: ratelimit.LevelOf(h.inner, h.scope, category),
			})
		}
	}
}

func (h *history) request(rt *rapid.T) ratelimit.Request {
	category := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "category")
	r := ratelimit.Request{
		ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(rt, "id")),
		N:        rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(rt, "units"),
		Levels:   []ratelimit.Level{ratelimit.ChannelLevel(h.outer, h.scope.Group), ratelimit.LevelOf(h.inner, h.scope, category)},
		Category: category,
	}
	if h.shadow {
		r.Levels = append(r.Levels, ratelimit.LevelOf(h.shadowed, h.scope, "someone"))
	}
	if h.world.fairness {
		r.Fairness = h.fairness
		r.Headroom = rapid.SampledFrom([]int64{0, 0, 1, 3}).Draw(rt, "headroom")
	}
	return r
}

func (h *history) run(rt *rapid.T, b bundle) (done tally) {
	for range rapid.IntRange(5, 25).Draw(rt, "steps") {
		h.advance(rt, b)
		switch rapid.IntRange(0, 9).Draw(rt, "step") {
		case 0:
			h.refundOne(rt, b)
		case 1:
			h.leave(rt, b)
		case 2:
			h.resetOne(rt, b)
		default:
			done.add(h.admit(rt, b))
		}
	}
	return done
}

func (h *history) advance(rt *rapid.T, b bundle) {
	pause := rapid.SampledFrom([]time.Duration{
		0, 0, time.Microsecond, 137 * time.Millisecond, 500 * time.Millisecond, 499_999 * time.Microsecond,
		time.Second, 30 * time.Minute,
	}).Draw(rt, "pause")
	b.advance(pause)
	h.o.now += pause.Microseconds()
}

func (h *history) admit(rt *rapid.T, b bundle) (done tally) {
	batch := make([]ratelimit.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
	for i := range batch {
		batch[i] = h.request(rt)
	}
	got, err := b.Admit(rt.Context(), h.scope, batch)
	require.NoError(rt, err)
	for i, r := range batch {
		require.Equal(rt, h.o.decide(r), got[i].Outcome, "request %d of %d", i, len(batch))
		h.asked = append(h.asked, r)
		done.decisions++
		if got[i].Outcome != ratelimit.Duplicate {
			h.checkRemaining(rt, r, got[i])
		}
		if got[i].Outcome == ratelimit.Dropped {
			done.refused++
			done.retries += h.checkRetry(rt, r, got[i])
		}
	}
	return done
}

// checkRemaining compares the units that are left at each window.
func (h *history) checkRemaining(rt *rapid.T, r ratelimit.Request, d ratelimit.Decision) {
	i := 0
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			require.Equal(rt, max(0, h.o.left(level, w, h.o.now)), d.Remaining[i].Units, "%s, %d per %s", level.Name, w.Limit, w.Per)
			i++
		}
	}
}

func (h *history) checkRetry(rt *rapid.T, r ratelimit.Request, d ratelimit.Decision) int {
	require.Positive(rt, d.RetryAfter)
	if !h.retry {
		return 0
	}
	at := h.o.now + d.RetryAfter.Microseconds()
	require.True(rt, h.o.fits(r, at), "it fits at the retry time")
	require.False(rt, h.o.fits(r, at-1), "and not a microsecond before")
	return 1
}

func (h *history) refundOne(rt *rapid.T, b bundle) {
	if !h.refunds || len(h.o.admitted) == 0 {
		return
	}
	id := rapid.SampledFrom(h.o.admitted).Draw(rt, "refund").id
	for _, r := range h.asked {
		last, young := int64(0), false
		for _, a := range h.o.admitted {
			if a.id == id {
				young, last = last == 0, a.at // admitted once only: which one is given back is not in question
			}
		}
		if r.ID == id && young && last > h.o.now-time.Hour.Microseconds() && h.levelsOf(r, id) {
			require.NoError(rt, b.Refund(rt.Context(), h.scope, r))
			h.o.refund(id)
			return
		}
	}
}

// levelsOf tells whether it was this request that was admitted under the id.
func (h *history) levelsOf(r ratelimit.Request, id string) bool {
	for _, a := range h.o.admitted {
		if a.id == id {
			return a.category == r.Category && a.units == r.N
		}
	}
	return false
}

// leave settles the oldest entries of the backlogs.
func (h *history) leave(rt *rapid.T, b bundle) {
	if h.strategies[0].Kind != ratelimit.Backlog || b.leave == nil {
		return
	}
	for i := range h.o.admitted {
		if a := &h.o.admitted[i]; !a.left {
			for _, key := range a.keys {
				b.leave(rt, key, a.units)
			}
			a.left = true
			return
		}
	}
}

func (h *history) resetOne(rt *rapid.T, b bundle) {
	if h.world.fairness || h.strategies[0].Kind == ratelimit.Backlog {
		return
	}
	level := ratelimit.LevelOf(h.inner, h.scope, "a")
	require.NoError(rt, b.Reset(rt.Context(), level))
	h.o.reset(level.Key)
	tick := time.Millisecond // an admission at the same instant would be on either side of the reset
	b.advance(tick)
	h.o.now += tick.Microseconds()
}
