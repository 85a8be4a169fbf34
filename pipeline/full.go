package pipeline

import (
	"context"
	"log/slog"
	"sync"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// maxFull bounds the levels that are known to be full.
const maxFull = 10_000

// full says in the log when a level becomes full, and when something fits again: once each, as this replica sees it.
type full struct {
	log *slog.Logger

	mu      sync.Mutex
	dropped map[fullLevel]int // since it became full
}

// fullLevel is a level of a channel; of any but the channel's own there is one for each category.
type fullLevel struct{ channel, level, category string }

func newFull(log *slog.Logger) *full { return &full{log: log, dropped: map[fullLevel]int{}} }

// decided looks at the decisions on a webhook's events.
func (f *full) decided(ctx context.Context, all []events.Event, decisions []store.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, n := range runs(all, decisions) {
		switch decisions[i].Outcome { //nolint:exhaustive // what tells nothing of how full a level is
		case store.Dropped:
			f.drops(ctx, &all[i], decisions[i], n)
		case store.Admitted:
			if len(f.dropped) > 0 {
				f.fits(ctx, &all[i])
			}
		}
	}
}

func (f *full) drops(ctx context.Context, e *events.Event, d store.Decision, n int) {
	level := fullLevel{e.Channel, d.Level, e.Category}
	if d.Level == ratelimit.LevelChannel {
		level.category = ""
	}
	if _, known := f.dropped[level]; known {
		f.dropped[level] += n
		return
	}
	if len(f.dropped) >= maxFull {
		clear(f.dropped)
	}
	f.dropped[level] = n
	f.log.InfoContext(ctx, "a limit is reached: events are dropped", "channel", e.Channel, "level", d.Level, "category", e.Category,
		"sender", e.Sender, "fits_in", d.RetryAfter)
}

// fits forgets the levels that an event got through.
func (f *full) fits(ctx context.Context, e *events.Event) {
	for level, n := range f.dropped {
		if level.channel == e.Channel && (level.category == "" || level.category == e.Category) {
			delete(f.dropped, level)
			f.log.InfoContext(ctx, "events fit again", "channel", e.Channel, "level", level.level, "category", e.Category, "dropped_here", n)
		}
	}
}
