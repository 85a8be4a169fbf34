package configs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/ratelimit"
)

// Level is a tier of a channel's limits: beyond channel and category, or in their place by name. Each field's
// comment ends with its default.
type Level struct {
	// Name is channel, category, sender, or the name of a label; an event without the label is not limited by it.
	Name string `yaml:"name"`
	// Strategy is sliding-log, sliding-buckets, fixed-window, sliding-counter, gcra, gate or backlog (sliding-log).
	Strategy string `yaml:"strategy"`
	// Windows must all pass.
	Windows []Window `yaml:"windows"`
	// Shadow levels report what they would refuse, and refuse nothing (false).
	Shadow bool `yaml:"shadow"`
	// Bucket is the width of a bucket, for sliding-buckets (a sixtieth of the longest window).
	Bucket time.Duration `yaml:"bucket"`
	// Anchor is first or aligned, for fixed-window (first).
	Anchor string `yaml:"anchor"`
	// Burst is how many units may pass at once, for gcra (the limit).
	Burst int64 `yaml:"burst"`
	// Queue is stream or list, for backlog (stream).
	Queue string `yaml:"queue"`
}

// Window admits limit events in any time of length per.
type Window struct {
	// Limit is how many, and Per in how long.
	Limit int64         `yaml:"limit"`
	Per   time.Duration `yaml:"per"`
}

// FirstNotice keeps slots of the channel for categories of which nothing was heard lately.
type FirstNotice struct {
	// Mode is off, fixed or auto (off).
	Mode string `yaml:"mode"`
	// Slots are kept, in mode fixed, for categories with fewer than PerCategory admitted (0).
	Slots       int64 `yaml:"slots"`
	PerCategory int64 `yaml:"per_category"`
	// Floor is how many slots mode auto keeps while it knows fewer categories (0).
	Floor int64 `yaml:"floor"`
}

// Reserve keeps slots of the channel for one category.
type Reserve struct {
	// Category is the category, and Slots how many of the channel are kept for it.
	Category string `yaml:"category"`
	Slots    int64  `yaml:"slots"`
}

// Headroom is the share of the channel, from 0 to 1, that events of a severity may use.
type Headroom struct {
	// Severity is the severity, and Share what of the channel it may use, from 0 to 1.
	Severity string  `yaml:"severity"`
	Share    float64 `yaml:"share"`
}

// Tiers are the levels of the channel, outermost first: channel, category, and the others in their order.
func (c Channel) Tiers() []ratelimit.LevelSpec {
	tiers := []ratelimit.LevelSpec{
		{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{{Limit: c.GlobalLimit, Per: cmp.Or(c.GlobalWindow, c.Window)}}},
		{Name: ratelimit.LevelCategory, Windows: []ratelimit.Window{{Limit: c.CategoryLimit, Per: cmp.Or(c.CategoryWindow, c.Window)}}},
	}
	for _, level := range c.Levels {
		tier := level.tier()
		i := slices.IndexFunc(tiers, func(t ratelimit.LevelSpec) bool { return t.Name == tier.Name })
		if i < 0 {
			tiers = append(tiers, tier)
			continue
		}
		tiers[i] = tier
	}
	return tiers
}

func (l Level) tier() ratelimit.LevelSpec {
	tier := ratelimit.LevelSpec{Name: l.Name, Shadow: l.Shadow, Strategy: ratelimit.Strategy{
		Kind: ratelimit.StrategyKind(l.Strategy), Bucket: l.Bucket, Anchor: ratelimit.Anchor(l.Anchor), Burst: l.Burst,
		Queue: ratelimit.Queue(l.Queue),
	}}
	for _, w := range l.Windows {
		tier.Windows = append(tier.Windows, ratelimit.Window{Limit: w.Limit, Per: cmp.Or(w.Per, defaultPer(l))})
	}
	return tier
}

// defaultPer stands for the length of a backlog, which has no window.
func defaultPer(l Level) time.Duration {
	if l.Strategy == string(ratelimit.Backlog) {
		return time.Second
	}
	return 0
}

// levelName is what a level, and so a label, may be called: it becomes a value of metrics and a part of keys.
var levelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,62}$`)

// category is how events have it: lower case, and what is no letter or digit as a dash.
var category = regexp.MustCompile(`^[a-z0-9._-]{1,100}$`)

var severities = []events.Severity{events.Critical, events.Error, events.Warning, events.Info}

var strategies = []string{
	"", string(ratelimit.SlidingLog), string(ratelimit.SlidingBuckets), string(ratelimit.FixedWindow), string(ratelimit.SlidingCounter),
	string(ratelimit.GCRA), string(ratelimit.Gate), string(ratelimit.Backlog),
}

// perSecond was a strategy of the removed engine multi.
const perSecond = "per-second"

func (l Level) validate(v *validator) {
	if !levelName.MatchString(l.Name) {
		v.fault("name", "is %q; it must be channel, category, sender, or the name of a label", l.Name)
	}
	if l.Strategy == perSecond {
		v.fault("strategy", "is %q, which was removed with the setting engine; use sliding-log with a window of 1s", perSecond)
		return
	}
	if !slices.Contains(strategies, l.Strategy) {
		v.fault("strategy", "is %q, which is unknown%s", l.Strategy, didYouMean(l.Strategy, strategies[1:]))
		return
	}
	backlog := l.Strategy == string(ratelimit.Backlog)
	if backlog && l.Name != ratelimit.LevelChannel {
		v.fault("strategy", "backlog counts the outbox, which is the channel's: only the level channel can have it")
	}
	if len(l.Windows) == 0 || backlog && len(l.Windows) > 1 {
		v.fault("windows", "needs one or more of {limit, per}; a backlog has exactly one, without per")
	}
	lengths := map[time.Duration]bool{}
	for i, w := range l.Windows {
		in := fmt.Sprintf("windows[%d].", i)
		v.limit(in+"limit", w.Limit)
		if backlog {
			continue
		}
		v.between(in+"per", w.Per, minWindow, maxWindow)
		if lengths[w.Per] {
			v.fault(in+"per", "is %s, as another window's; keep the smaller limit", w.Per)
		}
		lengths[w.Per] = true
	}
	l.validateOptions(v)
}

// validateOptions refuses options of other strategies, which would be ignored silently.
func (l Level) validateOptions(v *validator) {
	for name, option := range map[string]struct {
		set   bool
		owner ratelimit.StrategyKind
	}{
		"bucket": {l.Bucket != 0, ratelimit.SlidingBuckets},
		"anchor": {l.Anchor != "", ratelimit.FixedWindow},
		"burst":  {l.Burst != 0, ratelimit.GCRA},
		"queue":  {l.Queue != "", ratelimit.Backlog},
	} {
		if option.set && l.Strategy != string(option.owner) {
			v.fault(name, "is an option of the strategy %s", option.owner)
		}
	}
	if l.Bucket != 0 {
		v.between("bucket", l.Bucket, minWindow, maxWindow)
	}
	v.oneOf("anchor", cmp.Or(l.Anchor, "first"), "first", "aligned")
	v.oneOf("queue", cmp.Or(l.Queue, "stream"), "stream", "list")
	if l.Burst != 0 {
		v.limit("burst", l.Burst)
	}
}

func (c Channel) validateLevels(v *validator) {
	names := map[string]bool{}
	for i, level := range c.Levels {
		in := &validator{where: fmt.Sprintf("%slevels[%d] (%s).", v.where, i, level.Name)}
		if names[level.Name] {
			in.fault("name", "is that of another level")
		}
		names[level.Name] = true
		level.validate(in)
		v.faults = append(v.faults, in.faults...)
	}
	c.validateFairness(v)
}

func (c Channel) validateFairness(v *validator) {
	limit := c.Tiers()[0].Windows
	if len(limit) == 0 {
		return // said before
	}
	most := limit[0].Limit
	first := c.FirstNotice
	v.oneOf("first_notice.mode", first.Mode, "off", "fixed", "auto")
	if first.Mode == "fixed" && (first.Slots < 1 || first.Slots > most || first.PerCategory < 1) {
		v.fault("first_notice", "in mode fixed needs slots of 1 to %d, the channel's limit, and per_category of 1 or more", most)
	}
	if first.Floor < 0 || first.Floor > most {
		v.fault("first_notice.floor", "is %d; it must be between 0 and %d, the channel's limit", first.Floor, most)
	}
	if len(c.Reserves) > ratelimit.MaxReserves {
		v.fault("reserves", "has %d entries; it may have %d", len(c.Reserves), ratelimit.MaxReserves)
	}
	var reserved int64
	for i, reserve := range c.Reserves {
		if !category.MatchString(reserve.Category) || reserve.Slots < 1 {
			v.fault(fmt.Sprintf("reserves[%d]", i), "needs a category, of a-z, 0-9 and ._- as events have it, and slots of 1 or more")
		}
		reserved += max(0, reserve.Slots)
	}
	if reserved > most {
		v.fault("reserves", "add up to %d, above %d, the channel's limit", reserved, most)
	}
	for i, h := range c.Headroom {
		if !slices.Contains(severities, events.Severity(h.Severity)) || h.Share <= 0 || h.Share > 1 {
			v.fault(fmt.Sprintf("headroom[%d]", i), "needs a severity (critical, error, warning, info) and a share above 0, up to 1")
		}
	}
	fair := first.Mode != "off" && first.Mode != "" || len(c.Reserves) > 0
	if kind := c.Tiers()[0].Strategy.Kind; len(c.Headroom) > 0 && kind != "" && kind != ratelimit.SlidingLog {
		v.fault("headroom", "needs the strategy sliding-log at the level channel")
	}
	for _, tier := range c.Tiers()[:2] {
		if fair && tier.Strategy.Kind != "" && tier.Strategy.Kind != ratelimit.SlidingLog {
			v.fault("first_notice", "and reserves need the strategy sliding-log at the levels channel and category")
		}
	}
}

// fairnessWarnings say what a reserve does not guarantee.
func (c Channel) fairnessWarnings() []string {
	var all []string
	if first := c.FirstNotice; first.Mode == "fixed" && first.PerCategory > 0 {
		all = append(all, fmt.Sprintf("channel %s: first_notice keeps %d slots, which guarantee the first notices of %d categories; "+
			"if more can appear, raise slots or use mode auto", c.Name, first.Slots, first.Slots/first.PerCategory))
	}
	for _, h := range c.Headroom {
		if h.Severity == "critical" && h.Share < 1 {
			all = append(all, "channel "+c.Name+": headroom keeps critical events from a part of the channel; leave critical out")
		}
	}
	return all
}
