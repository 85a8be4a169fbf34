package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"slackrelay/ratelimit"
)

// rulesOf returns the row of a strategy.
func rulesOf(s ratelimit.Strategy) *strategyRules {
	i := slices.IndexFunc(strategyTable, func(row strategyRules) bool { return row.kind == s.EffectiveKind() })
	return &strategyTable[i]
}

// Strategies are the variants of all strategies.
func Strategies() []Variant {
	return variantsOf(func(strategyRules) bool { return true })
}

// TimedStrategies are the variants of the strategies whose units come back with time: all but the backlog.
func TimedStrategies() []Variant {
	return variantsOf(func(row strategyRules) bool { return !row.untimed })
}

func variantsOf(wanted func(strategyRules) bool) []Variant {
	var all []Variant
	for _, row := range strategyTable {
		if wanted(row) {
			all = append(all, row.variants...)
		}
	}
	return all
}

// drawn returns the variants that random histories test.
func (r *strategyRules) drawn() []Variant {
	if r.worlds != nil {
		return r.worlds
	}
	return r.variants
}

// Promised is the most that docs/strategies.md lets the first window of a level hold.
func Promised(tier ratelimit.LevelSpec) int64 { return promised(tier.Strategy, tier.Windows[0].Limit) }

func promised(s ratelimit.Strategy, limit int64) int64 {
	if most := rulesOf(s).promised; most != nil {
		return most(s, limit)
	}
	return limit
}

func capacity(level ratelimit.Level, w ratelimit.Window) int64 {
	rules := rulesOf(level.Strategy)
	if w.Limit == 0 || rules.capacity == nil {
		return w.Limit
	}
	return rules.capacity(level.Strategy, w.Limit)
}

// drawOptions draws the options of a strategy for a comparison of two stores.
func drawOptions(rt *rapid.T, s ratelimit.Strategy) ratelimit.Strategy {
	if draw := rulesOf(s).draw; draw != nil {
		draw(rt, &s)
	}
	return s
}
