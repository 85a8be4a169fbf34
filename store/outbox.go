// Package outbox is the durable queue between admission and Slack.
//
// Messages are appended by the limiter's admit step (package ratelimit) and leave in the order of their
// admission, per channel. Beside them are extras, which spend no slot: edits of what was posted, digests, notices
// and copies. One sender at a time holds a channel: a claim takes a lease, and settling is refused once another
// sender holds it. An entry stays in the outbox until it is settled, so that what a dead sender held goes to the
// next one when its lease ends. Claims never block. Pace and pauses are kept here, with Redis's clock, so that they
// hold over all replicas. What an entry says is opaque.
//
// There are two engines behind [Outbox]: [Redis], and [Memory] for a single process without Redis.
package store

import (
	"context"
	"errors"
	"time"
)

// Receipt is where a message is in Slack; webhooks do not tell.
type Receipt struct {
	Channel string
	TS      string
}

// Outbox hands out what waits.
//
// What is settled is named by the entry that was claimed: by its number and the time of its admission. A Redis that
// comes back older than it was gives numbers again; an entry that is not there any more under its name is gone, and
// settling it changes nothing, which is no error. [ErrLeaseLost] is one.
type Outbox interface {
	// Claim takes what is next in the channel if this sender may send it now. It never blocks. On a look, what
	// would be posted or edited is not claimed: the state says that it is ready.
	Claim(ctx context.Context, channel Channel, terms Terms, look bool) (Claim, error)
	// Ack deletes an entry that reached Slack, and counts it as delivered. A repeat is harmless.
	Ack(ctx context.Context, channel Channel, entry Entry, receipt Receipt) error
	// Retry leaves an entry in its place, lets the channel wait for every sender, and gives up the lease.
	Retry(ctx context.Context, channel Channel, entry Entry, pausing RetryPlan) error
	// Bury moves an entry that can never reach Slack to the dead letters and counts it as failed.
	// A repeat is harmless.
	Bury(ctx context.Context, channel Channel, entry Entry, death DeadReason) error
	// Expire deletes a message that is too old, and counts it as expired, unless its resolve took its place since it
	// was claimed. noted is what the next digest says of it, as in [Digest]. A repeat is harmless.
	Expire(ctx context.Context, channel Channel, entry Entry, noted map[string]int64) error
	// Drop deletes an extra that has nothing to say any more.
	Discard(ctx context.Context, channel Channel, entry Entry) error
	// Renew holds the lease a while longer, and says until when.
	Renew(ctx context.Context, channel Channel) (time.Time, error)
	// Release gives up the lease, if this sender has it.
	Release(ctx context.Context, channel Channel) error
	// Hold stops the channel's sending for a time, because somebody asked for it; 0 lets it go on, whatever it waited
	// for. What is admitted meanwhile waits.
	Pause(ctx context.Context, channel Channel, wait time.Duration, reason string) error
	// Digest has a digest posted or edited where one is due.
	Digest(ctx context.Context, channel Channel, terms DigestTerms) error
	// Put puts an extra in, once: the id is remembered for a day.
	Append(ctx context.Context, channel Channel, id, kind string, payload []byte) error
	// Record reads what is kept of a message; nil = nothing.
	PostedMessage(ctx context.Context, channel Channel, number int64) (*PostedMessage, error)
	// Delayed lists what waits for a slot and may be asked for next: the oldest of each category.
	Delayed(ctx context.Context, channel Channel) ([]DelayedMessage, error)
	// DeadLetters lists dead letters, newest first: those older than the id before ("" = all), so many at most.
	DeadLetters(ctx context.Context, channel Channel, before string, most int) ([]DeadLetter, error)
	// DeleteDead deletes dead letters, and tells how many were there. Their count in the ledger stays.
	DeleteDead(ctx context.Context, channel Channel, ids ...string) (int, error)
}

// ErrLeaseLost is returned when another sender holds the lease, or claimed the entry since: nothing was changed, and
// the entry may be sent by that other sender too.
var ErrLeaseLost = errors.New("another sender holds the lease")
