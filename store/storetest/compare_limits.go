package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// limitsComparison plays the same random requests on two stores.
type limitsComparison struct {
	a, b     Fixture
	config   limitsConfig
	fairness *ratelimit.Fairness
	admitted []store.Request // and not refunded
	ids      int
}

// limitsConfig is the levels as one replica has them configured.
type limitsConfig struct{ channel, category ratelimit.LevelSpec }

func playLimits(_ testing.TB, rt *rapid.T, a, b Fixture) {
	h := &limitsComparison{a: a, b: b}
	strategy := rapid.SampledFrom(TimedStrategies()).Draw(rt, "strategy").Strategy
	h.config = drawConfig(rt, strategy)
	if strategy.Kind == "" && rapid.Bool().Draw(rt, "fair") {
		h.fairness = drawComparedFairness(rt, h.config.category)
	}
	rt.Repeat(map[string]func(*rapid.T){
		"decide": h.decide, "decide more": h.decide, "wait": h.wait, "wait again": h.wait, "refund": h.refund, "reset": h.reset,
		"": h.compare,
	})
}

// drawConfig draws windows of the levels, and what else the strategy can be given.
func drawConfig(t *rapid.T, s ratelimit.Strategy) limitsConfig {
	s = drawOptions(t, s)
	spec := func(name string, most int64) ratelimit.LevelSpec {
		spec := ratelimit.LevelSpec{Name: name, Strategy: s, Shadow: rapid.IntRange(0, 9).Draw(t, "shadow") == 0}
		lengths := rapid.SampledFrom([][]time.Duration{
			{2 * time.Second}, {time.Second}, {time.Minute}, {time.Second, 10 * time.Second}, {time.Hour, time.Second},
		}).Draw(t, name+" lengths")
		for _, per := range lengths {
			spec.Windows = append(spec.Windows, ratelimit.Window{Limit: rapid.Int64Range(0, most).Draw(t, name+" limit"), Per: per})
		}
		return spec
	}
	return limitsConfig{spec("channel", 8), spec("category", 5)}
}

func drawComparedFairness(t *rapid.T, category ratelimit.LevelSpec) *ratelimit.Fairness {
	fair := &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{
		Slots: rapid.Int64Range(0, 3).Draw(t, "slots"), PerCategory: rapid.Int64Range(1, 2).Draw(t, "per category"),
	}}
	if rapid.Bool().Draw(t, "auto") {
		fair.FirstNotice = ratelimit.FirstNotice{Auto: true, Floor: rapid.Int64Range(0, 3).Draw(t, "floor")}
	}
	if slots := rapid.Int64Range(0, 2).Draw(t, "reserve"); slots > 0 {
		fair.Reserves = []ratelimit.Reserve{{Category: "a", Slots: slots, Level: store.LevelOf(category, Scope, "a")}}
	}
	return fair
}

// limitsAnswer is what a call returned, in a form that can be compared.
type limitsAnswer struct {
	decisions []store.Decision
	closed    []string
	stepped   time.Duration
}

func bothAnswer(t *rapid.T, h *limitsComparison, mode store.Mode, requests []store.Request) limitsAnswer {
	ask := func(w Fixture) limitsAnswer {
		answer, err := w.method(mode)(t.Context(), Scope, slices.Clone(requests))
		require.NoError(t, err)
		got := limitsAnswer{decisions: answer.Decisions, stepped: answer.Stepped}
		for i := range got.decisions {
			got.decisions[i].DecidedBy, got.decisions[i].Durable = "", false
		}
		for _, c := range answer.Closed {
			got.closed = append(got.closed, fmt.Sprint(c.Level.Key, " ", c.Window, " ", c.For))
		}
		slices.Sort(got.closed)
		return got
	}
	first := ask(h.a)
	require.Equal(t, first, ask(h.b), "the first store, the second")
	return first
}

func (h *limitsComparison) request(t *rapid.T) store.Request {
	category := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "category")
	if rapid.IntRange(0, 5).Draw(t, "again") > 0 {
		h.ids++
	}
	r := With(Small.Request(fmt.Sprint(h.ids), category), rapid.SampledFrom([]int64{1, 1, 1, 2, 4}).Draw(t, "units"))
	r.Levels = []ratelimit.Level{store.ChannelLevel(h.config.channel, Scope.Group), store.LevelOf(h.config.category, Scope, category)}
	if h.fairness != nil {
		r.Fairness, r.Headroom = h.fairness, rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, "headroom")
	}
	return r
}

func (h *limitsComparison) decide(t *rapid.T) {
	var requests []store.Request
	for range rapid.IntRange(1, 4).Draw(t, "batch") {
		requests = append(requests, h.request(t))
	}
	mode := rapid.SampledFrom([]store.Mode{store.ModeAdmit, store.ModeAdmit, store.ModeAdmit, store.ModePeek}).Draw(t, "mode")
	answer := bothAnswer(t, h, mode, requests)
	for i, d := range answer.decisions {
		if mode == store.ModeAdmit && d.Outcome == store.Admitted {
			h.admitted = append(h.admitted, requests[i])
		}
	}
}

func (h *limitsComparison) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		moment, 125 * time.Millisecond, 137 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second,
		10 * time.Second, time.Minute, time.Hour, 24 * time.Hour,
	}).Draw(t, "time")
	h.a.Advance(d)
	h.b.Advance(d)
}

// refund refunds a request, whether its id is still remembered or not.
func (h *limitsComparison) refund(t *rapid.T) {
	if len(h.admitted) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.admitted)-1).Draw(t, "refund")
	for _, w := range []Fixture{h.a, h.b} {
		require.NoError(t, w.Refund(t.Context(), Scope, h.admitted[i]))
	}
	h.admitted = slices.Delete(h.admitted, i, i+1)
}

func (h *limitsComparison) reset(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "reset") > 0 || h.fairness != nil {
		return
	}
	level := store.LevelOf(h.config.category, Scope, "a")
	for _, w := range []Fixture{h.a, h.b} {
		require.NoError(t, w.Reset(t.Context(), Scope, level))
	}
}

// compare compares how full the levels are.
func (h *limitsComparison) compare(t *rapid.T) {
	levels := []ratelimit.Level{store.ChannelLevel(h.config.channel, Scope.Group)}
	for _, category := range []string{"a", "b", "c"} {
		levels = append(levels, store.LevelOf(h.config.category, Scope, category))
	}
	usage := func(w Fixture) []ratelimit.Usage {
		all, err := store.UsageOf(t.Context(), w, Scope, levels)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, usage(h.a), usage(h.b), "the first store, the second")
}
