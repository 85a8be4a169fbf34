package ratelimit_test

import (
	"fmt"
	"math/big"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

var admitHash = lua.Admit.Hash()

// oracle decides by brute force: it keeps everything that ever happened, and recounts it for each question.
type oracle struct {
	now      int64
	admitted []admission
	attempts []attempt
	// tried is every request, with its units where it was admitted: on the engine multi, windows begin with the
	// first attempt.
	tried         []admission
	beginsOnTries bool
}

type admission struct {
	at       int64
	id       string
	category string
	units    int64
	keys     []string
	refunded bool
	left     bool // settled, so that a backlog no longer holds it
}

type attempt struct {
	at       int64
	category string
}

// of lists what a level admitted, in order, what was refunded included.
func (o *oracle) of(key string) []admission { return onKey(o.admitted, key) }

func onKey(admissions []admission, key string) []admission {
	var all []admission
	for _, a := range admissions {
		for _, k := range a.keys {
			if k == key {
				all = append(all, a)
			}
		}
	}
	return all
}

// between counts the units of a level with from <= at < to.
func (o *oracle) between(key string, from, to int64) (n int64) {
	for _, a := range o.of(key) {
		if a.at >= from && a.at < to && !a.refunded {
			n += a.units
		}
	}
	return n
}

// left is how many units fit into a window at a time, if nothing else happens until then.
func (o *oracle) left(level ratelimit.Level, w ratelimit.Window, at int64) int64 {
	per := w.Per.Microseconds()
	switch level.Strategy.Kind {
	case ratelimit.SlidingBuckets:
		width, used := level.Strategy.Bucket.Microseconds(), int64(0)
		for _, a := range o.of(level.Key) {
			if end := (a.at/width + 1) * width; end > at-per && !a.refunded {
				used += a.units
			}
		}
		return w.Limit - used
	case ratelimit.FixedWindow:
		return w.Limit - o.inFixedWindow(level, per, at)
	case ratelimit.SlidingCounter:
		start := at / per * per
		before := new(big.Rat).SetFrac64(o.between(level.Key, start-per, start)*(per-(at-start)), per)
		share := new(big.Int).Div(new(big.Int).Add(before.Num(), new(big.Int).Sub(before.Denom(), big.NewInt(1))), before.Denom())
		return w.Limit - share.Int64() - o.between(level.Key, start, start+per)
	case ratelimit.GCRA:
		return o.tokens(level.Key, w, level.Strategy.Burst, at)
	case ratelimit.Gate:
		return o.tokens(level.Key, w, 1, at)
	case ratelimit.PerSecond:
		start := at / 1e6 * 1e6
		return w.Limit - o.between(level.Key, start, start+1e6)
	case ratelimit.Backlog:
		waiting := int64(0)
		for _, a := range o.of(level.Key) {
			if !a.left {
				waiting += a.units
			}
		}
		return w.Limit - waiting
	default:
		return w.Limit - o.between(level.Key, at-per+1, at+1)
	}
}

// inFixedWindow replays the windows: each begins with the first unit after the last one, or on the grid.
func (o *oracle) inFixedWindow(level ratelimit.Level, per, at int64) int64 {
	if level.Strategy.Anchor == ratelimit.Aligned {
		phase := ratelimit.PhaseOf(level)
		start := (at+phase)/per*per - phase
		return o.between(level.Key, start, start+per)
	}
	start, n, all := int64(-1), int64(0), o.of(level.Key)
	if o.beginsOnTries {
		all = onKey(o.tried, level.Key)
	}
	for _, a := range all {
		if start < 0 || a.at >= start+per {
			start, n = a.at, 0
		}
		if !a.refunded {
			n += a.units
		}
	}
	if start < 0 || at >= start+per {
		return 0
	}
	return n
}

// tokens replays a bucket in which one token appears every W/L, rounded up.
func (o *oracle) tokens(key string, w ratelimit.Window, burst, at int64) int64 {
	if w.Limit == 0 {
		return 0
	}
	each := (w.Per.Microseconds() + w.Limit - 1) / w.Limit
	debt, last := int64(0), int64(0) // microseconds until the bucket is full again
	for _, a := range o.of(key) {
		debt = max(0, debt-(a.at-last)) + a.units*each
		last = a.at
	}
	debt = max(0, debt-(at-last))
	return (burst*each - debt) / each // debt never exceeds a full bucket
}

func capacity(level ratelimit.Level, w ratelimit.Window) int64 {
	switch {
	case w.Limit == 0:
		return 0
	case level.Strategy.Kind == ratelimit.GCRA:
		return level.Strategy.Burst
	case level.Strategy.Kind == ratelimit.Gate:
		return 1
	default:
		return w.Limit
	}
}

func (o *oracle) fits(r ratelimit.Request, at int64) bool {
	for i, level := range r.Levels {
		if level.Shadow {
			continue
		}
		for j, w := range level.Windows {
			var held int64
			if i == 0 && j == 0 {
				held = o.held(r, at)
			}
			if o.left(level, w, at)-held < r.N {
				return false
			}
		}
	}
	return true
}

// held is what the request must leave free in the channel.
func (o *oracle) held(r ratelimit.Request, at int64) int64 {
	held := r.Headroom
	if r.Fairness == nil {
		return held
	}
	per := r.Levels[0].Windows[0].Per.Microseconds()
	reserved := int64(0)
	for _, reserve := range r.Fairness.Reserves {
		if reserve.Category != r.Category {
			reserved += max(0, reserve.Slots-o.between(reserve.Level.Key, at-per+1, at+1))
		}
	}
	held = max(held, reserved)
	first := r.Fairness.FirstNotice
	if first.Slots > 0 && o.between(r.Levels[1].Key, at-per+1, at+1) >= first.PerCategory {
		held = max(held, first.Slots)
	}
	if first.Auto {
		known, heard := map[string]bool{}, map[string]bool{}
		for _, a := range o.attempts {
			if a.at > at-24*time.Hour.Microseconds() {
				known[a.category] = true
			}
		}
		for _, a := range o.admitted {
			if a.at > at-per {
				heard[a.category] = true
			}
		}
		if heard[r.Category] {
			held = max(held, int64(len(known)-len(heard))+max(0, first.Floor-int64(len(known))))
		}
	}
	return held
}

func (o *oracle) decide(r ratelimit.Request) ratelimit.Outcome {
	outcome := o.outcome(r)
	try := admission{at: o.now}
	for _, level := range r.Levels {
		try.keys = append(try.keys, level.Key)
	}
	if outcome == ratelimit.Admitted {
		try.units = r.N
	}
	o.tried = append(o.tried, try)
	return outcome
}

func (o *oracle) outcome(r ratelimit.Request) ratelimit.Outcome {
	for _, a := range o.admitted {
		if a.id == r.ID && a.at > o.now-time.Hour.Microseconds() {
			return ratelimit.Duplicate
		}
	}
	o.attempts = append(o.attempts, attempt{o.now, r.Category})
	for i, level := range r.Levels {
		for j, w := range level.Windows {
			if r.N > capacity(level, w) && !level.Shadow || i == 0 && j == 0 && r.Headroom > 0 && r.N+r.Headroom > w.Limit {
				return ratelimit.Never
			}
		}
	}
	if !o.fits(r, o.now) {
		return ratelimit.Dropped
	}
	a := admission{at: o.now, id: r.ID, category: r.Category, units: r.N}
	for _, level := range r.Levels {
		if !level.Shadow || o.fits(ratelimit.Request{N: r.N, Levels: []ratelimit.Level{visible(level)}}, o.now) {
			a.keys = append(a.keys, level.Key)
		}
	}
	o.admitted = append(o.admitted, a)
	return ratelimit.Admitted
}

func visible(level ratelimit.Level) ratelimit.Level {
	level.Shadow = false
	return level
}

// forget marks the youngest admission of an id as refunded.
func (o *oracle) refund(id string) {
	for i := range o.admitted {
		if o.admitted[i].id == id {
			o.admitted[i].refunded = true
		}
	}
}

func (o *oracle) reset(key string) {
	for _, all := range [][]admission{o.admitted, o.tried} {
		for i := range all {
			for k := range all[i].keys {
				if all[i].keys[k] == key {
					all[i].keys[k] = ""
				}
			}
		}
	}
}

// decisions is how many random decisions are compared for each engine and strategy; make soak raises it.
func decisions(t *testing.T, standard int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("SOAK_DECISIONS")) //nolint:forbidigo // how long to test is no configuration of the product
	if err != nil {
		return standard
	}
	return n
}

// world is what random histories are drawn from.
type world struct {
	strategies []ratelimit.Strategy // of the channel, and of the category
	fairness   bool
	refunds    bool
	retry      bool // a drop's retry time is exact
	shadow     bool
	multi      bool // on the engine multi: time goes by in milliseconds
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

func TestAgainstTheOracle(t *testing.T) {
	t.Parallel()
	standard := map[string]int{"memory": 5_000, "redis": 1_500}
	for name, engine := range engines {
		for kind, w := range worlds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				againstTheOracle(t, engine(t), w, decisions(t, standard[name]))
			})
		}
	}
}

func againstTheOracle(t *testing.T, b bundle, w world, want int) {
	t.Helper()
	var done tally
	histories := 0
	for done.decisions < want {
		rapid.Check(t, func(rt *rapid.T) {
			histories++ // each has a limit group of its own
			done.add(newHistory(rt, w, fmt.Sprint("group-", histories), b).run(rt, b))
		})
	}
	require.Positive(t, done.refused)
	t.Logf("%d decisions, %d of them refusals, %d with an exact retry time", done.decisions, done.refused, done.retries)
}

type tally struct{ decisions, refused, retries int }

func (t *tally) add(other tally) {
	t.decisions += other.decisions
	t.refused += other.refused
	t.retries += other.retries
}

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

func newHistory(rt *rapid.T, w world, group string, clock interface{ now() time.Time }) *history {
	h := &history{world: w, o: &oracle{now: clock.now().UnixMicro(), beginsOnTries: w.multi}, scope: ratelimit.Scope{Group: group, Channel: "ch"}}
	tier := func(name string, most int64) ratelimit.Tier {
		tier := ratelimit.Tier{Name: name, Strategy: rapid.SampledFrom(w.strategies).Draw(rt, name+" strategy")}
		lengths := []int64{1, 2, 3, 4}
		for i := range rapid.IntRange(1, 2).Draw(rt, name+" windows") {
			if i > 0 && tier.Strategy.Kind == ratelimit.Backlog {
				break
			}
			if tier.Strategy.Kind == ratelimit.PerSecond && i > 0 {
				break
			}
			per := lengths[rapid.IntRange(0, len(lengths)-1-i).Draw(rt, name+" length")]
			if i > 0 && per == int64(tier.Windows[0].Per/(500*time.Millisecond)) {
				per = lengths[len(lengths)-1]
				if per == int64(tier.Windows[0].Per/(500*time.Millisecond)) {
					break
				}
			}
			if tier.Strategy.Kind == ratelimit.PerSecond {
				per = 2
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
				Category: category, Slots: slots, Level: h.inner.Of(h.scope, category),
			})
		}
	}
}

func (h *history) request(rt *rapid.T) ratelimit.Request {
	category := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "category")
	r := ratelimit.Request{
		ID:       fmt.Sprint("id-", rapid.IntRange(0, 60).Draw(rt, "id")),
		N:        rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(rt, "units"),
		Levels:   []ratelimit.Level{h.outer.Outer(h.scope.Group), h.inner.Of(h.scope, category)},
		Category: category,
	}
	if h.shadow {
		r.Levels = append(r.Levels, h.shadowed.Of(h.scope, "someone"))
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
	if h.multi {
		pause = pause.Truncate(time.Millisecond)
	}
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
	if h.multi { // a counter ends at a whole millisecond
		require.False(rt, h.o.fits(r, at-1000), "and not a millisecond before")
		return 1
	}
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
	if h.world.fairness || h.strategies[0].Kind == ratelimit.Backlog || h.strategies[0].Kind == ratelimit.PerSecond {
		return
	}
	level := h.inner.Of(h.scope, "a")
	require.NoError(rt, b.Reset(rt.Context(), level))
	h.o.reset(level.Key)
	tick := time.Millisecond // an admission at the same instant would be on either side of the reset
	b.advance(tick)
	h.o.now += tick.Microseconds()
}
