package store

import (
	"context"
	"time"

	"slackrelay/ratelimit"
)

// Limiter decides and counts. A refusal is never an error of Admit; [Wait] and [Do] make one of it.
type Limiter interface {
	// Admit decides up to MaxBatch requests in one round trip, in order: each sees the ones before it.
	// An error that is ErrUnavailable means that it is unknown whether they were committed; a repeat
	// with the same ids spends nothing twice. Any other error means that nothing was written.
	Admit(ctx context.Context, scope Channel, requests []Request) ([]Decision, error)
	// Peek decides each of up to MaxBatch requests by itself, and spends and counts nothing.
	Peek(ctx context.Context, scope Channel, requests []Request) ([]Decision, error)
	// Mute counts n events that were received and kept out on purpose.
	CountMuted(ctx context.Context, scope Channel, n int64) error
	// Refund gives back what a request spent, because it provably never reached its channel. Its id stays
	// remembered. A repeat is harmless, and so is the refund of what was never admitted.
	Refund(ctx context.Context, scope Channel, request Request) error
	// Reset empties levels.
	Reset(ctx context.Context, levels ...ratelimit.Level) error
	// Report reads the ledger and the state of a channel.
	Report(ctx context.Context, scope Channel) (Report, error)
	// Categories reads the counts of the last 24 hours, in the order of the names.
	Categories(ctx context.Context, scope Channel) ([]CategoryCounts, error)
	// Minutes reads how many events of each category were admitted and dropped in each minute since a time ago, at most
	// [MaxBack], in the order of time and name; minutes without any are left out. It answers the store's time too.
	Minutes(ctx context.Context, scope Channel, back time.Duration) (now time.Time, all []MinuteCount, err error)
	// Drops reads the record of what was dropped, newest first: what is older than an id ("" = all), so many at
	// most.
	Drops(ctx context.Context, scope Channel, before string, most int) ([]Drop, error)
	// Warming remembers how long the tiers of a channel look back, and tells for how long each still counts too
	// little, because its longest window was lengthened; 0 = not at all.
	Warming(ctx context.Context, scope Channel, tiers []ratelimit.LevelSpec) ([]time.Duration, error)
	// Ping tells whether decisions can be made now.
	Ping(ctx context.Context) error
	// Durable tells whether an admission survives the death of this process.
	Durable() bool
}
