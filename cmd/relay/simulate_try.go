package main

import (
	"slices"
	"strings"

	"slackrelay/configs"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
	"slackrelay/simulation"
)

// tried is what --try compares with: the channel with other settings. engine=multi, which no configuration has, plays
// the limiter without scripts, whose strategies no configuration has either.
func tried(try string, cfg configs.Config, base configs.Channel) (simulation.Setting, error) {
	parts := strings.Split(try, ",")
	i := slices.Index(parts, "engine=multi")
	if i < 0 {
		varied, channel, err := cfg.Vary(base, try)
		return settingOf(try, varied, channel), err
	}
	parts = slices.Delete(parts, i, i+1)
	var strategy ratelimit.StrategyKind
	parts = slices.DeleteFunc(parts, func(part string) bool {
		value, ok := strings.CutPrefix(part, "strategy=")
		if ok {
			strategy = ratelimit.StrategyKind(value)
		}
		return ok
	})
	if strategy == multi.PerSecond && !slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, "window=") }) {
		parts = append(parts, "window=1s") // it counts seconds
	}
	if len(parts) > 0 {
		var err error
		if base, err = base.Vary(strings.Join(parts, ",")); err != nil {
			return simulation.Setting{}, err
		}
	}
	setting := settingOf(try, cfg, base)
	setting.Multi = true
	for i := range setting.Channel.Tiers[:2] {
		if strategy != "" {
			setting.Channel.Tiers[i].Strategy = ratelimit.Strategy{Kind: strategy}
		}
	}
	return setting, nil
}
