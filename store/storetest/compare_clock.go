package storetest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"slackrelay/ratelimit"
)

// playClock plays limits while the clock also goes back, by less and by more than what is moved, and while the windows of the
// levels change: replicas with two configurations share them.
func playClock(_ testing.TB, rt *rapid.T, a, b Fixture) {
	h := &limitsComparison{a: a, b: b}
	strategy := rapid.SampledFrom(TimedStrategies()).Draw(rt, "strategy").Strategy
	h.config = drawConfig(rt, strategy)
	other := drawConfig(rt, strategy)
	if strategy.Kind == "" && rapid.Bool().Draw(rt, "fair") {
		h.fairness = drawComparedFairness(rt, h.config.category)
	}
	reload := func(*rapid.T) { h.config, other = other, h.config }
	rt.Repeat(map[string]func(*rapid.T){
		"decide": h.decide, "decide more": h.decide, "wait": h.waitAbout, "step": h.step, "reload": reload, "refund": h.refund,
		"reset": h.reset,
		"":      h.compare,
	})
}

// waitAbout moves the clock forward by no whole number of seconds: keys of Redis also expire by the time that the test takes, so
// that no step may end just before they do.
func (h *limitsComparison) waitAbout(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		0, 125 * time.Millisecond, time.Second, 2 * time.Second, 10 * time.Second, time.Minute, time.Hour, 24 * time.Hour,
	}).Draw(t, "time")
	h.a.Advance(d + 7*time.Millisecond)
	h.b.Advance(d + 7*time.Millisecond)
}

// step moves the clock back.
func (h *limitsComparison) step(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		-time.Microsecond, -time.Second, -3 * time.Second, -ratelimit.MaxStep * time.Microsecond,
		-ratelimit.MaxStep*time.Microsecond - time.Microsecond, -10 * time.Second, -time.Minute, -time.Hour,
	}).Draw(t, "back")
	h.a.Advance(d)
	h.b.Advance(d)
}
