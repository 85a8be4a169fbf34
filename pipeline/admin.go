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

// Admin is what the operators of the relay do to a channel by hand.
type Admin struct {
	Limiter  store.Limiter
	Outboxes []store.Outbox // all that may hold messages of a channel
	Channels []Channel
	Woken    func(channel string) // is told that a channel goes on
}

// MaxPause is the longest time for which a channel can be stopped.
const MaxPause = 31 * 24 * time.Hour

// ErrNoLevel is returned for a level that a channel does not have.
var ErrNoLevel = errors.New("the channel has no such level")

// Pause stops a channel's sending for a time; 0 lets it go on, whatever it waited for. What is admitted meanwhile waits.
func (a *Admin) Pause(ctx context.Context, channel string, wait time.Duration, reason string) error {
	ch, err := channelOf(a.Channels, channel)
	if err != nil {
		return err
	}
	for _, box := range a.Outboxes {
		if err := box.Pause(ctx, ch.scope(), wait, reason); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	if wait == 0 {
		a.Woken(channel)
	}
	return nil
}

// ResetLimit empties a level of a channel: of what was admitted within its window nothing counts any more. value is the
// category, the sender or the label's value; "" for the channel's own level.
func (a *Admin) ResetLimit(ctx context.Context, channel, level, value string) error {
	ch, err := channelOf(a.Channels, channel)
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
	if err := a.Limiter.Reset(ctx, ch.level(ch.Tiers[i], value)); err != nil {
		return fmt.Errorf("reset %s of channel %s: %w", level, channel, err)
	}
	return nil
}
