package configs

import (
	"slackrelay/events"
	"slackrelay/ratelimit"
)

// FirstNotice reserves slots of the channel for categories that have been quiet, so that busy ones cannot use all of them.
type FirstNotice struct {
	// Mode is how many slots are reserved. off: none; fixed: slots; auto: as many as the categories lately seen need.
	Mode string `yaml:"mode" initial:"off" oneof:"off,fixed,auto"`
	// Slots is the number of reserved slots, with `mode: fixed`. It must be 1 or more, and not above global_limit.
	Slots int64 `yaml:"slots"`
	// PerCategory is the number of admitted events below which a category counts as quiet, with `mode: fixed`.
	PerCategory int64 `yaml:"per_category" min:"1" when:"mode=fixed"`
	// Floor is the smallest number of reserved slots, with `mode: auto`. It must not be above global_limit.
	Floor int64 `yaml:"floor" min:"0"`
}

// Reserve reserves slots of the channel for one category.
type Reserve struct {
	// Category is the category, as events have it.
	Category string `yaml:"category" format:"category"`
	// Slots is the number of slots of the channel that only this category may use.
	Slots int64 `yaml:"slots" min:"1" max:"1000000"`
}

// Headroom limits how much of the channel events of a severity may use.
type Headroom struct {
	// Severity is the severity.
	Severity string `yaml:"severity" oneof:"critical,error,warning,info"`
	// Share is the share of global_limit that the severity may use, above 0.
	Share float64 `yaml:"share" min:"0" max:"1"`
}

func (c Channel) validateFairness(v validator) {
	channel := c.Tiers()[0]
	if len(channel.Windows) == 0 {
		return // validateLevels reports that
	}
	limit := channel.Windows[0].Limit
	c.validateFirstNotice(v, limit)
	c.validateReserves(v, limit)
	for i, h := range c.Headroom {
		if h.Share == 0 {
			v.in(indexed("headroom", i)).fault("share", "0 is out of range; use more than 0, up to 1")
		}
	}
	c.validateFairStrategies(v)
}

func (c Channel) validateFirstNotice(v validator, limit int64) {
	first := c.FirstNotice
	if first.Mode == "fixed" && (first.Slots < 1 || first.Slots > limit) {
		v.fault("first_notice.slots", "%d is out of range; use 1 to %d, the limit of the channel", first.Slots, limit)
	}
	if first.Floor > limit {
		v.fault("first_notice.floor", "%d is out of range; use 0 to %d, the limit of the channel", first.Floor, limit)
	}
}

func (c Channel) validateReserves(v validator, limit int64) {
	if len(c.Reserves) > ratelimit.MaxReserves {
		v.fault("reserves", "has %d entries; use %d or fewer", len(c.Reserves), ratelimit.MaxReserves)
	}
	var sum int64
	for _, reserve := range c.Reserves {
		sum += max(0, reserve.Slots)
	}
	if sum > limit {
		v.fault("reserves", "%d slots in all are above the limit of the channel; use %d or fewer", sum, limit)
	}
}

// validateFairStrategies finds levels that cannot reserve slots.
func (c Channel) validateFairStrategies(v validator) {
	const needsLog = "needs strategy sliding-log at the level %s; change the level, or remove %s"
	channel, category := c.Tiers()[0], c.Tiers()[1]
	if len(c.Headroom) > 0 && !isSlidingLog(channel) {
		v.fault("headroom", needsLog, channel.Name, "headroom")
	}
	for _, tier := range []ratelimit.LevelSpec{channel, category} {
		if c.firstNotice() != (ratelimit.FirstNotice{}) && !isSlidingLog(tier) {
			v.fault("first_notice", needsLog, tier.Name, "first_notice")
		}
		if len(c.Reserves) > 0 && !isSlidingLog(tier) {
			v.fault("reserves", needsLog, tier.Name, "reserves")
		}
	}
}

func isSlidingLog(tier ratelimit.LevelSpec) bool {
	return tier.Strategy.Kind == "" || tier.Strategy.Kind == ratelimit.SlidingLog
}

// fairnessWarnings reports what a reserve does not guarantee.
func (c Channel) fairnessWarnings(v validator) {
	if first := c.FirstNotice; first.Mode == "fixed" && first.PerCategory > 0 {
		v.fault("first_notice", "%d slots guarantee the first notices of %d categories; if there can be more, raise slots or use mode auto",
			first.Slots, first.Slots/first.PerCategory)
	}
	for i, h := range c.Headroom {
		if h.Severity == "critical" && h.Share < 1 {
			v.in(indexed("headroom", i)).fault("severity", "keeps critical events out of a part of the channel; leave critical out")
		}
	}
}

// firstNotice returns the option of the limiter.
func (c Channel) firstNotice() ratelimit.FirstNotice {
	switch f := c.FirstNotice; f.Mode {
	case "fixed":
		return ratelimit.FirstNotice{Slots: f.Slots, PerCategory: f.PerCategory}
	case "auto":
		return ratelimit.FirstNotice{Auto: true, Floor: f.Floor}
	default:
		return ratelimit.FirstNotice{}
	}
}

// headroom returns the share of the channel that each severity may use; nil = all of it.
func (c Channel) headroom() map[events.Severity]float64 {
	if len(c.Headroom) == 0 {
		return nil
	}
	shares := make(map[events.Severity]float64, len(c.Headroom))
	for _, h := range c.Headroom {
		shares[events.Severity(h.Severity)] = h.Share
	}
	return shares
}
