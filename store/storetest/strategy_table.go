package storetest

import (
	"math/big"
	"time"

	"pgregory.net/rapid"

	"slackrelay/ratelimit"
)

// Variant is a strategy with some options.
type Variant struct {
	Name     string
	Strategy ratelimit.Strategy
}

// strategyRules is what the suite knows of the strategies of one kind.
type strategyRules struct {
	kind ratelimit.StrategyKind
	// variants are tested with a limit of 4 per 10 s.
	variants []Variant
	// worlds are tested by random histories, with windows of 0.5 to 2 s. nil = the variants.
	worlds []Variant
	// left is how many units fit into a window at a time, if nothing else happens until then.
	left func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64
	// capacity is how many units fit into an empty window. nil = its limit.
	capacity func(s ratelimit.Strategy, limit int64) int64
	// promised is the most that docs/strategies.md lets one window hold. nil = its limit.
	promised func(s ratelimit.Strategy, limit int64) int64
	// draw draws options for comparisons of two stores. nil = those of the variant.
	draw func(rt *rapid.T, s *ratelimit.Strategy)
	// refunds: a refund gives back exactly the units of its request.
	refunds bool
	// shared: two configurations share one count of a window, if they give it the same length.
	shared bool
	// untimed: units come back when messages leave the outbox, not with time.
	untimed bool
}

// strategyTable has a row for each strategy.
var strategyTable = []strategyRules{
	{
		kind:     ratelimit.SlidingLog,
		variants: []Variant{{"sliding-log", ratelimit.Strategy{}}},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			return w.Limit - o.Between(level.Key, at-w.Per.Microseconds()+1, at+1)
		},
		refunds: true,
	},
	{
		kind: ratelimit.SlidingBuckets,
		variants: []Variant{
			{"sliding-buckets of 1 s", ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Second}},
		},
		worlds: []Variant{
			{"sliding-buckets", ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond}},
		},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			width, used := level.Strategy.Bucket.Microseconds(), int64(0)
			for _, a := range o.of(level.Key) {
				if end := (a.At/width + 1) * width; end > at-w.Per.Microseconds() && !a.refunded {
					used += a.Units
				}
			}
			return w.Limit - used
		},
		draw: func(rt *rapid.T, s *ratelimit.Strategy) {
			s.Bucket = rapid.SampledFrom([]time.Duration{0, 125 * time.Millisecond, time.Second}).Draw(rt, "bucket")
		},
		refunds: true,
	},
	{
		kind: ratelimit.FixedWindow,
		variants: []Variant{
			{"fixed-window, first", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.First}},
			{"fixed-window, aligned", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}},
		},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			return w.Limit - o.inFixedWindow(level, w.Per.Microseconds(), at)
		},
		promised: func(s ratelimit.Strategy, limit int64) int64 {
			if s.Anchor == ratelimit.Aligned {
				return 2 * limit
			}
			return 2*limit - 1
		},
		refunds: true,
		shared:  true,
	},
	{
		kind:     ratelimit.SlidingCounter,
		variants: []Variant{{"sliding-counter", ratelimit.Strategy{Kind: ratelimit.SlidingCounter}}},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			per := w.Per.Microseconds()
			start := at / per * per
			before := new(big.Rat).SetFrac64(o.Between(level.Key, start-per, start)*(per-(at-start)), per)
			share := new(big.Int).Div(new(big.Int).Add(before.Num(), new(big.Int).Sub(before.Denom(), big.NewInt(1))), before.Denom())
			return w.Limit - share.Int64() - o.Between(level.Key, start, start+per)
		},
		promised: func(_ ratelimit.Strategy, limit int64) int64 { return 2 * limit },
		refunds:  true,
		shared:   true,
	},
	{
		kind:     ratelimit.GCRA,
		variants: []Variant{{"gcra, burst 2", ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 2}}},
		worlds:   []Variant{{"gcra", ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 3}}},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			return o.tokens(level.Key, w, level.Strategy.Burst, at)
		},
		capacity: func(s ratelimit.Strategy, _ int64) int64 { return s.Burst },
		promised: func(s ratelimit.Strategy, limit int64) int64 { return limit + s.Burst - 1 },
		draw: func(rt *rapid.T, s *ratelimit.Strategy) {
			s.Burst = rapid.Int64Range(0, 3).Draw(rt, "burst")
		},
	},
	{
		kind:     ratelimit.Gate,
		variants: []Variant{{"gate", ratelimit.Strategy{Kind: ratelimit.Gate}}},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, at int64) int64 {
			return o.tokens(level.Key, w, 1, at)
		},
		capacity: func(ratelimit.Strategy, int64) int64 { return 1 },
	},
	{
		kind: ratelimit.Backlog,
		variants: []Variant{
			{"backlog, stream", ratelimit.Strategy{Kind: ratelimit.Backlog}},
			{"backlog, list", ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}},
		},
		left: func(o *Oracle, level ratelimit.Level, w ratelimit.Window, _ int64) int64 {
			waiting := int64(0)
			for _, a := range o.of(level.Key) {
				if !a.left {
					waiting += a.Units
				}
			}
			return w.Limit - waiting
		},
		untimed: true,
	},
}
