package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Store is what a [Limiter] needs of the store that all replicas share. A [store.Store] is one.
type Store interface {
	store.Admissions
	store.Counts
	store.Problems
	store.Replication
	store.Availability
}

// Decider decides requests, and reads what it decided. It is what the shared store and the [Fallback] have in common.
type Decider interface {
	store.Decider
	Report(ctx context.Context, channel store.Channel) (store.Report, error)
	Statuses(ctx context.Context, queries []store.StatusQuery) ([]store.ChannelStatus, error)
	Categories(ctx context.Context, channel store.Channel) ([]store.CategoryCounts, error)
	Minutes(ctx context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
}

// Fallback decides within this process while the shared store is unavailable. A store of package memory is one; its
// decisions should name [store.ByFallback].
type Fallback interface {
	Decider
	// AdmitAll admits requests that are no duplicates, whatever the limits are, and spends their units.
	AdmitAll(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error)
	// Seed spends units of a level as of a time ago, whatever its limit.
	Seed(level ratelimit.Level, units int64, ago time.Duration)
	// Forget deletes levels, by their keys, and the counts of a channel. The ids that it admitted stay known.
	Forget(channel store.Channel, levels []string)
}

// FallbackOutbox is where messages wait to be sent that the [Fallback] admitted.
type FallbackOutbox interface {
	// TakeBack stops the sending of a channel's messages, waits for the sends in flight, and returns what happened to each
	// message since the last call, by its number. Messages that wait, and dead letters, then belong to the caller.
	TakeBack(ctx context.Context, channel store.Channel) (map[int64]store.OutageResult, error)
	// Resume allows sending again.
	Resume(channel store.Channel)
}
