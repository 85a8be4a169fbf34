package pipeline

import (
	"cmp"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/problem"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Channel is a named destination with its limits. Name, Tiers, Pace and Sender are needed to deliver; all else may be left
// out:
//
//	window := []ratelimit.Window{{Limit: 100, Per: 30 * time.Minute}}
//	pipeline.Channel{
//		Name:   "alerts",
//		Tiers:  []ratelimit.LevelSpec{{Name: ratelimit.LevelChannel, Windows: window}, {Name: ratelimit.LevelCategory, Windows: window}},
//		Pace:   store.Pace{Every: time.Second, Burst: 3},
//		Sender: notifier.NewBot(options),
//	}
type Channel struct {
	Name        string                // unique; a configured channel has no "~" in its name
	Group       string                // the limit group; "" = the channel's own
	Tiers       []ratelimit.LevelSpec // the configured levels: channel, category, and further ones
	FirstNotice ratelimit.FirstNotice
	Reserves    []Reserve
	Headroom    map[events.Severity]float64 // the share of the channel's limit that a severity may use; absent = all of it
	Handling    *store.MessagePolicy        // treats events that do not fit, resolves and repeats; nil = the limits alone decide
	Hold        time.Duration               // how long a firing waits for its resolve; 0 = not at all
	Flapping    problem.Flapping            // the zero value follows no changes
	Remind      Remind                      // the zero value reminds nobody
	Bundle      BundlePolicy                // "" = [BundleOff]
	Pace        store.Pace
	TTL         time.Duration // the age at which a message expires unsent; 0 = never
	// SilenceNotices posts in the channel when a silence that concerns it is made or ends.
	SilenceNotices bool
	Digest         store.DigestTerms // Every is ignored where the Sender cannot edit
	Sender         notifier.Sender   // posts the channel's messages
	Renderer       notifier.Renderer // lays them out
	Rules          *events.Rules     // classify events before the limiter is asked; nil = none
	Fallback       notifier.Sender   // posts messages that Sender rejects permanently; nil = they stay dead letters
	// Operators are the ids of Slack's users and user groups who may mute alerts, and post what was held back.
	Operators []string
	// DropUnknown are the severities whose messages are not sent again when their delivery state is unknown and they
	// cannot be looked up. A message of several events is sent again if any of its severities is absent.
	DropUnknown map[events.Severity]bool
}

// Reserve keeps slots of the channel free for one category.
type Reserve struct {
	Category string
	Slots    int64
}

// Scope names the channel in the store.
func (c *Channel) Scope() store.Channel { return store.Channel{Group: c.group(), Name: c.Name} }

// backlog is the key of the channel's level where that counts what waits in the outbox; "" = it does not.
func (c *Channel) backlog() string {
	if c.backlogged() {
		return c.level(c.Tiers[0], "").Key
	}
	return ""
}

// backlogged reports whether the outbox itself is the channel's budget: a slot is free again when its entry leaves.
func (c *Channel) backlogged() bool {
	return len(c.Tiers) > 0 && c.Tiers[0].Strategy.Kind == ratelimit.Backlog
}

// delays reports whether the channel delays its overflow.
func (c *Channel) delays() bool {
	return c.Handling != nil && c.Handling.Overflow == store.OverflowDelay
}

func (c *Channel) group() string { return cmp.Or(c.Group, c.Name) }

// level returns the level of one value of a tier. A limit group shares its channel level, except a backlog, which belongs
// to the outbox of one channel.
func (c *Channel) level(tier ratelimit.LevelSpec, value string) ratelimit.Level {
	if tier.Name == ratelimit.LevelChannel && tier.Strategy.Kind != ratelimit.Backlog {
		return store.ChannelLevel(tier, c.group())
	}
	return store.LevelOf(tier, c.Scope(), value)
}

// AllLevels returns one level for each tier, which stands for all of its values.
func (c *Channel) AllLevels() []ratelimit.Level {
	levels := make([]ratelimit.Level, len(c.Tiers))
	for i, tier := range c.Tiers {
		levels[i] = c.level(tier, "")
	}
	return levels
}

// channelLevel returns the level of the whole channel.
func (c *Channel) channelLevel() ratelimit.Level { return c.level(c.Tiers[0], "") }

// categoryLevel returns the level of one category.
func (c *Channel) categoryLevel(category string) ratelimit.Level {
	return c.level(c.Tiers[1], category)
}

// levels returns the levels that limit an event, outermost first. An event without a label is not limited by its level.
func (c *Channel) levels(e *events.Event) []ratelimit.Level {
	levels := make([]ratelimit.Level, 0, len(c.Tiers))
	for _, tier := range c.Tiers {
		var value string
		switch tier.Name {
		case ratelimit.LevelChannel:
		case ratelimit.LevelCategory:
			value = e.Category
		case levelSender:
			value = e.Sender
		default:
			label, ok := e.Labels[tier.Name]
			if !ok {
				continue
			}
			value = label
		}
		levels = append(levels, c.level(tier, value))
	}
	return levels
}

// levelSender is the level of the credential that was presented.
const levelSender = "sender"

// fairness returns what all requests of the channel share; nil = none.
func (c *Channel) fairness() *ratelimit.Fairness {
	f := &ratelimit.Fairness{FirstNotice: c.FirstNotice}
	for _, reserve := range c.Reserves {
		f.Reserves = append(f.Reserves, ratelimit.Reserve{
			Category: reserve.Category, Slots: reserve.Slots, Level: c.categoryLevel(reserve.Category),
		})
	}
	if !f.FirstNotice.Auto && f.FirstNotice.Slots == 0 && len(f.Reserves) == 0 {
		return nil
	}
	return f
}

// headroom returns how many of the channel's slots an event of this severity must leave free.
func (c *Channel) headroom(severity events.Severity) int64 {
	share, ok := c.Headroom[severity]
	if !ok {
		return 0
	}
	return ratelimit.Headroom(c.Tiers[0].Windows[0].Limit, share)
}
