package replica

import (
	"context"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Store is what a [Limiter] needs of the store that all replicas share. The stores of packages redis and memory are ones.
type Store interface {
	Decider
	Merger

	// Promote decides delayed messages again.
	Promote(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error)
	// Force admits requests past the limits.
	Force(ctx context.Context, channel store.Channel, requests []store.Request) (store.Answer, error)

	// Heartbeat announces this replica, and returns what is known of the others.
	Heartbeat(ctx context.Context, beat store.Heartbeat) (store.HeartbeatReply, error)

	// Refund gives back what a request spent.
	Refund(ctx context.Context, channel store.Channel, request store.Request) error
	// Reset empties levels.
	Reset(ctx context.Context, levels ...ratelimit.Level) error

	// Drops reads the record of drops, newest first.
	Drops(ctx context.Context, channel store.Channel, before string, most int) ([]store.Drop, error)
	// Warming returns for how long each level still counts too little.
	Warming(ctx context.Context, channel store.Channel, levels []ratelimit.LevelSpec) ([]time.Duration, error)
	// Memory returns how many bytes are used where a channel is stored, and how many may be; 0 = no bound.
	Memory(ctx context.Context, channel store.Channel) (used, most int64, err error)

	// Ping returns an error unless decisions can be made now.
	Ping(ctx context.Context) error
	// Durable reports whether an admission survives the death of this process.
	Durable() bool
}

// Decider decides requests, and reads what it decided. It is what the shared store and the [Fallback] have in common.
type Decider interface {
	store.Decider
	Report(ctx context.Context, channel store.Channel) (store.Report, error)
	Categories(ctx context.Context, channel store.Channel) ([]store.CategoryCounts, error)
	Minutes(ctx context.Context, channel store.Channel, back time.Duration) (now time.Time, all []store.MinuteCount, err error)
}

// Merger adds what a replica decided by itself to the shared store. A repeat with the same id changes nothing.
type Merger interface {
	// MergeCounts adds counts, and drops for the record.
	MergeCounts(ctx context.Context, channel store.Channel, id store.MergeID, counts store.LocalCounts) error
	// Restore adds what the fallback admitted and what happened to it since, whatever the limits are now.
	Restore(ctx context.Context, channel store.Channel, requests []store.Request, id store.MergeID) error
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
