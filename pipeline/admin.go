package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Resetter is the part of a limiter that an [Admin] calls.
type Resetter interface {
	// Reset empties levels of a channel.
	Reset(ctx context.Context, scope store.Channel, levels ...ratelimit.Level) error
}

// Pauser is the part of an outbox that an [Admin] calls.
type Pauser interface {
	// Pause pauses the channel's sending; 0 resumes it.
	Pause(ctx context.Context, channel store.Channel, wait time.Duration, reason string) error
}

// Admin changes the state of channels for operators. All fields but Instances are needed:
//
//	admin := &pipeline.Admin{
//		Limiter: limiter, Outboxes: []pipeline.Pauser{queue}, Channels: channels, Wake: courier.Wake, GaveBack: courier.PromoteOthers,
//	}
type Admin struct {
	Limiter  Resetter
	Outboxes []Pauser // all that may queue messages of a channel
	Channels []Channel
	// Instances are the channels that templates made; nil = there are no templates.
	Instances *Instances
	Wake      func(channel string) // is called with the name of a channel that was resumed
	GaveBack  func(channel string) // is called with the name of a channel whose own level was emptied
}

// MaxPause is the longest pause of a channel.
const MaxPause = 31 * 24 * time.Hour

// ErrNoLevel is returned for a level that a channel does not have.
var ErrNoLevel = errors.New("the channel has no such level")

// Pause pauses a channel's sending; 0 resumes it, whatever it waited for. What is admitted meanwhile stays queued.
func (a *Admin) Pause(ctx context.Context, channel string, wait time.Duration, reason string) error {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil {
		return err
	}
	for _, queue := range a.Outboxes {
		if err := queue.Pause(ctx, ch.Scope(), wait, reason); err != nil {
			return err
		}
	}
	if wait == 0 {
		a.Wake(channel)
	}
	return nil
}

// ResetLimit empties a level of a channel: nothing that was admitted before counts any more. value is the category, the
// sender or the label's value; "" for the channel's own level.
func (a *Admin) ResetLimit(ctx context.Context, channel, level, value string) error {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(ch.Tiers, func(t ratelimit.LevelSpec) bool { return t.Name == level })
	if i < 0 || (level == ratelimit.LevelChannel) != (value == "") {
		return fmt.Errorf("level %q of %q: %w", level, value, ErrNoLevel)
	}
	if level == ratelimit.LevelCategory {
		value = events.NormalizeCategory(value)
	}
	if err := a.Limiter.Reset(ctx, ch.Scope(), ch.level(ch.Tiers[i], value)); err != nil {
		return fmt.Errorf("reset %s of channel %s: %w", level, channel, err)
	}
	if level == ratelimit.LevelChannel {
		a.GaveBack(channel)
	}
	return nil
}
