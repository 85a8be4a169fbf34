package storetest

import "slackrelay/ratelimit"

// World is what random histories are drawn from.
type World struct {
	strategies []ratelimit.Strategy // of the channel, and of the category
	fairness   bool
	Refunds    bool
	retry      bool // a drop's retry time is exact
	shadow     bool
}

// Worlds are one for each strategy, and for whatever else has rules of its own.
var Worlds = worlds()

func worlds() map[string]World {
	log := []ratelimit.Strategy{{}}
	all := map[string]World{
		"shadow":   {strategies: log, shadow: true, retry: true},
		"fairness": {strategies: log, fairness: true},
	}
	mixed := World{retry: true}
	for _, row := range strategyTable {
		for _, v := range row.drawn() {
			all[v.Name] = World{strategies: []ratelimit.Strategy{v.Strategy}, Refunds: row.refunds, retry: !row.untimed}
		}
		if !row.untimed {
			mixed.strategies = append(mixed.strategies, row.drawn()[0].Strategy)
		}
	}
	all["mixed"] = mixed
	return all
}
