package pipeline

import (
	"context"
	"log/slog"
	"sync"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// maxReached bounds the levels that a limitLog remembers.
const maxReached = 10_000

// limitLog logs when a level is reached and when events fit again, once each, as this replica observes it.
type limitLog struct {
	log *slog.Logger

	mu      sync.Mutex
	dropped map[reachedLevel]int // since the level was reached
}

// reachedLevel is a level of a channel. The channel's own level has no category; any other counts by category.
type reachedLevel struct{ channel, level, category string }

func newLimitLog(log *slog.Logger) *limitLog {
	return &limitLog{log: log, dropped: map[reachedLevel]int{}}
}

// observe looks at the decisions on a webhook's events.
func (l *limitLog) observe(ctx context.Context, all []events.Event, decisions []store.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range runs(all, decisions) {
		if decisions[i].Outcome == store.Dropped {
			l.reached(ctx, &all[i], &decisions[i], n)
		}
		if decisions[i].Outcome == store.Admitted && len(l.dropped) > 0 {
			l.open(ctx, &all[i])
		}
	}
}

// reached counts n events that a level dropped.
func (l *limitLog) reached(ctx context.Context, e *events.Event, d *store.Decision, n int) {
	level := reachedLevel{e.Channel, d.Level, e.Category}
	if d.Level == ratelimit.LevelChannel {
		level.category = ""
	}
	if _, known := l.dropped[level]; known {
		l.dropped[level] += n
		return
	}
	if len(l.dropped) >= maxReached {
		clear(l.dropped)
	}
	l.dropped[level] = n
	l.log.InfoContext(ctx, "a limit is reached: events are dropped", "channel", e.Channel, "level", d.Level, "category", e.Category,
		"sender", e.Sender, "fits_in", d.RetryAfter)
}

// open forgets the levels that an event passed.
func (l *limitLog) open(ctx context.Context, e *events.Event) {
	for level, n := range l.dropped {
		if level.channel == e.Channel && (level.category == "" || level.category == e.Category) {
			delete(l.dropped, level)
			l.log.InfoContext(ctx, "events fit again", "channel", e.Channel, "level", level.level, "category", e.Category,
				"dropped_here", n)
		}
	}
}
