package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/ratelimit"
)

// playClock plays limits while the clock also goes back, less and more than by what is moved, and while a second replica
// has the same levels configured with other windows.
func playClock(_ testing.TB, rt *rapid.T, a, b Fixture) {
	h := &limitsComparison{a: a, b: b}
	strategy := rapid.SampledFrom(Strategies[:7]).Draw(rt, "strategy").Strategy
	h.config = drawConfig(rt, strategy)
	other := drawConfig(rt, strategy)
	if strategy.Kind == "" && rapid.Bool().Draw(rt, "fair") {
		h.fairness = drawComparedFairness(rt, h.config.category)
	}
	surprise := h.step
	if rapid.Bool().Draw(rt, "two configurations") {
		surprise = func(*rapid.T) { h.config, other = other, h.config }
	}
	rt.Repeat(map[string]func(*rapid.T){
		"decide": h.decide, "decide more": h.decide, "wait": h.waitAbout, "surprise": surprise, "refund": h.refundAny, "reset": h.reset,
		"": h.compare,
	})
}

// waitAbout moves the clock forward by no whole number of seconds. The expiry of keys in Redis runs on while the test does, so no
// step may come just before it.
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

// refundAny refunds a request, whether it is still remembered or not.
func (h *limitsComparison) refundAny(t *rapid.T) {
	if len(h.admitted) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.admitted)-1).Draw(t, "refund")
	for _, w := range []Fixture{h.a, h.b} {
		require.NoError(t, w.Refund(t.Context(), Scope, h.admitted[i].Request))
	}
	h.admitted = slices.Delete(h.admitted, i, i+1)
}
