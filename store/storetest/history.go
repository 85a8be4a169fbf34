package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Tally counts what a history did.
type Tally struct{ decisions, refused, retries int }

func (t *Tally) add(other Tally) {
	t.decisions += other.decisions
	t.refused += other.refused
	t.retries += other.retries
}

// clocked has a clock that the test moves.
type clocked interface{ Now() time.Time }

// History is a random sequence of requests to a store and to the [Oracle], in a limit group of its own.
type History struct {
	World
	o        *Oracle
	scope    store.Channel
	outer    ratelimit.LevelSpec
	inner    ratelimit.LevelSpec
	shadowed ratelimit.LevelSpec
	fairness *ratelimit.Fairness
	asked    []store.Request
}

// NewHistory draws the limits of a history.
func NewHistory(rt *rapid.T, w World, group string, clock clocked) *History {
	h := &History{World: w, o: &Oracle{Now: clock.Now().UnixMicro()}, scope: store.Channel{Group: group, Name: "ch"}}
	tier := func(name string, most int64) ratelimit.LevelSpec {
		tier := ratelimit.LevelSpec{Name: name, Strategy: rapid.SampledFrom(w.strategies).Draw(rt, name+" strategy")}
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

func (h *History) drawFairness(rt *rapid.T) {
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
				Category: category, Slots: slots, Level: store.LevelOf(h.inner, h.scope, category),
			})
		}
	}
}

func (h *History) request(rt *rapid.T) store.Request {
	category := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "category")
	r := store.Request{
		Request: ratelimit.Request{
			ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(rt, "id")),
			N:        rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(rt, "units"),
			Levels:   []ratelimit.Level{store.ChannelLevel(h.outer, h.scope.Group), store.LevelOf(h.inner, h.scope, category)},
			Category: category,
		},
	}
	if h.shadow {
		r.Levels = append(r.Levels, store.LevelOf(h.shadowed, h.scope, "someone"))
	}
	if h.World.fairness {
		r.Fairness = h.fairness
		r.Headroom = rapid.SampledFrom([]int64{0, 0, 1, 3}).Draw(rt, "headroom")
	}
	return r
}

// Run plays the history on a store.
func (h *History) Run(rt *rapid.T, b Fixture) (done Tally) {
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

func (h *History) advance(rt *rapid.T, b Fixture) {
	pause := rapid.SampledFrom([]time.Duration{
		0, 0, time.Microsecond, 137 * time.Millisecond, 500 * time.Millisecond, 499_999 * time.Microsecond,
		time.Second, 30 * time.Minute,
	}).Draw(rt, "pause")
	b.Advance(pause)
	h.o.Now += pause.Microseconds()
}

func (h *History) admit(rt *rapid.T, b Fixture) (done Tally) {
	batch := make([]store.Request, rapid.IntRange(1, 3).Draw(rt, "batch"))
	for i := range batch {
		batch[i] = h.request(rt)
	}
	got, err := b.Admit(rt.Context(), h.scope, batch)
	require.NoError(rt, err)
	for i, r := range batch {
		require.Equal(rt, h.o.decide(r), got.Decisions[i].Outcome, "request %d of %d", i, len(batch))
		h.asked = append(h.asked, r)
		done.decisions++
		if got.Decisions[i].Outcome != store.Duplicate {
			h.checkRemaining(rt, r, got.Decisions[i])
		}
		if got.Decisions[i].Outcome == store.Dropped {
			done.refused++
			done.retries += h.checkRetry(rt, r, got.Decisions[i])
		}
	}
	return done
}

// checkRemaining compares the units that are left at each window.
func (h *History) checkRemaining(rt *rapid.T, r store.Request, d store.Decision) {
	i := 0
	for _, level := range r.Levels {
		for _, w := range level.Windows {
			require.Equal(rt, max(0, h.o.Left(level, w, h.o.Now)), d.Remaining[i].Free, "%s, %d per %s", level.Name, w.Limit, w.Per)
			i++
		}
	}
}

func (h *History) checkRetry(rt *rapid.T, r store.Request, d store.Decision) int {
	require.Positive(rt, d.RetryAfter)
	if !h.retry {
		return 0
	}
	at := h.o.Now + d.RetryAfter.Microseconds()
	require.True(rt, h.o.fits(r, at), "it fits at the retry time")
	require.False(rt, h.o.fits(r, at-1), "and not a microsecond before")
	return 1
}

func (h *History) refundOne(rt *rapid.T, b Fixture) {
	if !h.Refunds || len(h.o.Admitted) == 0 {
		return
	}
	id := rapid.SampledFrom(h.o.Admitted).Draw(rt, "refund").ID
	for _, r := range h.asked {
		last, young := int64(0), false
		for _, a := range h.o.Admitted {
			if a.ID == id {
				young, last = last == 0, a.At // admitted only once, so that it is clear which one is refunded
			}
		}
		if r.ID == id && young && last > h.o.Now-time.Hour.Microseconds() && h.levelsOf(r, id) {
			require.NoError(rt, b.Refund(rt.Context(), h.scope, r))
			h.o.Refund(id)
			return
		}
	}
}

// levelsOf tells whether this is the request that was admitted with the id.
func (h *History) levelsOf(r store.Request, id string) bool {
	for _, a := range h.o.Admitted {
		if a.ID == id {
			return a.category == r.Category && a.Units == r.N
		}
	}
	return false
}

// leave removes the oldest admission from the backlogs, as settling it does.
func (h *History) leave(rt *rapid.T, b Fixture) {
	if h.strategies[0].Kind != ratelimit.Backlog || b.Leave == nil {
		return
	}
	for i := range h.o.Admitted {
		if a := &h.o.Admitted[i]; !a.left {
			for _, key := range a.Keys {
				b.Leave(rt, key, a.Units)
			}
			a.left = true
			return
		}
	}
}

func (h *History) resetOne(rt *rapid.T, b Fixture) {
	if h.World.fairness || h.strategies[0].Kind == ratelimit.Backlog {
		return
	}
	level := store.LevelOf(h.inner, h.scope, "a")
	require.NoError(rt, b.Reset(rt.Context(), h.scope, level))
	h.o.reset(level.Key)
	tick := time.Millisecond // an admission at the same instant would be on either side of the reset
	b.Advance(tick)
	h.o.Now += tick.Microseconds()
}
