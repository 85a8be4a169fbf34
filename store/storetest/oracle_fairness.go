package storetest

import (
	"time"

	"slackrelay/store"
)

// reserved is how many units of the channel the request must leave free.
func (o *Oracle) reserved(r store.Request, at int64) int64 {
	kept := r.Headroom
	if r.Fairness == nil {
		return kept
	}
	per := r.Levels[0].Windows[0].Per.Microseconds()
	reserved := int64(0)
	for _, reserve := range r.Fairness.Reserves {
		if reserve.Category != r.Category {
			reserved += max(0, reserve.Slots-o.Between(reserve.Level.Key, at-per+1, at+1))
		}
	}
	kept = max(kept, reserved)
	first := r.Fairness.FirstNotice
	if first.Slots > 0 && o.Between(r.Levels[1].Key, at-per+1, at+1) >= first.PerCategory {
		kept = max(kept, first.Slots)
	}
	if first.Auto {
		known, heard := map[string]bool{}, map[string]bool{}
		for _, a := range o.attempts {
			if a.at > at-24*time.Hour.Microseconds() {
				known[a.category] = true
			}
		}
		for _, a := range o.Admitted {
			if a.At > at-per {
				heard[a.category] = true
			}
		}
		if heard[r.Category] {
			kept = max(kept, int64(len(known)-len(heard))+max(0, first.Floor-int64(len(known))))
		}
	}
	return kept
}
