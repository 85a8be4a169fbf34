package storetest

import (
	"time"

	"slackrelay/ratelimit"
)

// World is what random histories are drawn from.
type World struct {
	strategies []ratelimit.Strategy // of the channel, and of the category
	fairness   bool
	Refunds    bool
	retry      bool // a drop's retry time is exact
	shadow     bool
}

// Worlds are one for each strategy, and for whatever else has rules of its own.
var Worlds = map[string]World{
	"sliding-log": {strategies: both(ratelimit.Strategy{}), Refunds: true, retry: true},
	"sliding-buckets": {
		strategies: both(ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond}),
		Refunds:    true, retry: true,
	},
	"fixed-window, first": {strategies: both(ratelimit.Strategy{Kind: ratelimit.FixedWindow}), Refunds: true, retry: true},
	"fixed-window, aligned": {
		strategies: both(ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}), Refunds: true,
		retry: true,
	},
	"sliding-counter": {strategies: both(ratelimit.Strategy{Kind: ratelimit.SlidingCounter}), Refunds: true, retry: true},
	"gcra":            {strategies: both(ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 3}), retry: true},
	"gate":            {strategies: both(ratelimit.Strategy{Kind: ratelimit.Gate}), retry: true},
	"backlog, stream": {strategies: both(ratelimit.Strategy{Kind: ratelimit.Backlog})},
	"backlog, list":   {strategies: both(ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List})},
	"mixed": {retry: true, strategies: []ratelimit.Strategy{
		{},
		{Kind: ratelimit.SlidingBuckets, Bucket: 125 * time.Millisecond},
		{Kind: ratelimit.FixedWindow},
		{Kind: ratelimit.SlidingCounter},
		{Kind: ratelimit.GCRA, Burst: 2},
		{Kind: ratelimit.Gate},
	}},
	"shadow":   {strategies: both(ratelimit.Strategy{}), shadow: true, retry: true},
	"fairness": {strategies: both(ratelimit.Strategy{}), fairness: true, Refunds: false},
}

func both(s ratelimit.Strategy) []ratelimit.Strategy { return []ratelimit.Strategy{s} }
