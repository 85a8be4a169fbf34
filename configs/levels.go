package configs

import (
	"cmp"
	"slices"
	"time"

	"slackrelay/ratelimit"
)

// Level is one level of a channel's limits: a further one, or one that replaces the level of the same name.
type Level struct {
	// Name is channel, category, sender, or the name of a label. Events without the label are not limited by it.
	Name string `yaml:"name" format:"level"`
	// Strategy is how the level counts.
	Strategy string `yaml:"strategy" format:"strategy" unset:"sliding-log"`
	// Windows are the windows that must all have room.
	Windows []Window `yaml:"windows"`
	// Shadow makes the level report what it would refuse, and refuse nothing.
	Shadow bool `yaml:"shadow"`
	// Bucket is the width of a bucket, for strategy sliding-buckets.
	Bucket time.Duration `yaml:"bucket" min:"1ms" max:"744h" unset:"a sixtieth of the longest window"`
	// Anchor is where windows begin, for strategy fixed-window. first: with their first event; aligned: at multiples of their
	// length.
	Anchor string `yaml:"anchor" oneof:"first,aligned" unset:"first"`
	// Burst is the number of events that may pass at once, for strategy gcra.
	Burst int64 `yaml:"burst" min:"1" max:"1000000" unset:"the limit"`
	// Queue is the kind of the queue in Redis, for strategy backlog.
	Queue string `yaml:"queue" oneof:"stream,list" unset:"stream"`
}

// Window admits a number of events in any period of a length.
type Window struct {
	// Limit is the number of events.
	Limit int64 `yaml:"limit" min:"1" max:"1000000"`
	// Per is the length of the window. A backlog has none.
	Per time.Duration `yaml:"per" min:"1ms" max:"744h" unset:"only for strategy backlog"`
}

// Tiers returns the levels of the channel: channel, category, and the others in their order.
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
		if l.isBacklog() {
			w.Per = cmp.Or(w.Per, time.Second) // it has no window, and the limiter ignores the length
		}
		tier.Windows = append(tier.Windows, ratelimit.Window(w))
	}
	return tier
}

func (l Level) isBacklog() bool { return l.Strategy == string(ratelimit.Backlog) }

func (c Channel) validateLevels(v validator) {
	names := map[string]bool{}
	for i, level := range c.Levels {
		in := v.in(indexed("levels", i))
		if names[level.Name] {
			in.fault("name", "%q is the name of another level; use each name once", level.Name)
		}
		names[level.Name] = true
		level.validate(in)
	}
}

func (l Level) validate(v validator) {
	if l.isBacklog() && l.Name != ratelimit.LevelChannel {
		v.fault("strategy", "%q counts the outbox of the channel; use it for the level channel only", l.Strategy)
	}
	switch {
	case len(l.Windows) == 0:
		v.fault("windows", "is empty; add one or more of {limit, per}")
	case l.isBacklog() && len(l.Windows) > 1:
		v.fault("windows", "has %d entries; a backlog has one, without per", len(l.Windows))
	case !l.isBacklog():
		l.validateWindows(v)
	}
	l.validateOptions(v)
}

func (l Level) validateWindows(v validator) {
	lengths := map[time.Duration]bool{}
	for i, w := range l.Windows {
		in := v.in(indexed("windows", i))
		switch {
		case w.Per == 0:
			in.fault("per", "0s is out of range; use 1ms to 744h")
		case lengths[w.Per]:
			in.fault("per", "%s is the length of another window; keep the one with the smaller limit", show(w.Per))
		}
		lengths[w.Per] = true
	}
}

// validateOptions refuses options of other strategies, which would be ignored silently.
func (l Level) validateOptions(v validator) {
	for _, option := range []struct {
		name  string
		isSet bool
		owner ratelimit.StrategyKind
	}{
		{"bucket", l.Bucket != 0, ratelimit.SlidingBuckets},
		{"anchor", l.Anchor != "", ratelimit.FixedWindow},
		{"burst", l.Burst != 0, ratelimit.GCRA},
		{"queue", l.Queue != "", ratelimit.Backlog},
	} {
		if option.isSet && l.Strategy != string(option.owner) {
			v.fault(option.name, "is an option of strategy %s; remove it, or use that strategy", option.owner)
		}
	}
}
