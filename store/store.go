// Package store is the state machine between a webhook and Slack: it decides events against the limits of their channel,
// queues what it admits, hands the queue to one sender at a time, and counts all of it.
//
// [Store] has one method for each script of package lua. There are two implementations: package store/redis runs the
// scripts, and shares the state among any number of processes; package store/memory is its twin for a single process, and
// is not durable. Package store/storetest checks that both decide alike. The types here are what they have in common.
//
// # Limits
//
// A request passes all of its levels, or it spends nothing. With the default strategy, for every instant x, every level
// and every window of length W, the units admitted in (x-W, x] never exceed the limit. Time is the store's own. A refusal
// writes nothing to any level, and returns when the request could fit. docs/strategies.md compares the other strategies.
//
// An admission spends its units, remembers its id, counts itself in the [Ledger] and queues its payload in one atomic
// step: an event is queued if and only if it was paid for, or an operator forced it past the limits, which
// [Ledger.Forced] counts.
//
// # Queue
//
// Each channel has a queue, its outbox. Messages leave it in the order of their admission. Extras, which spend no units,
// leave it when they are due: edits of posted messages, digests, notices and copies. [Store.Claim] takes a lease, so that
// one sender at a time sends to a channel, and never blocks. An entry stays queued until its sender reports what happened
// to it (Ack, Retry, Bury, Expire, Discard): when a sender dies, its lease ends, and the next sender claims the entry. A
// report is refused once another sender has the lease. Pace and pauses follow the store's clock, so that they apply to
// all replicas. Payloads are opaque to the store.
//
// A report names its entry by number and time of admission, because a Redis that was restored from an older copy uses
// numbers again. An entry that is gone, or whose number is another entry's now, is left alone, which is not an error:
// every report can be repeated.
//
// # Errors
//
// [ratelimit.ErrRequest] means that a request is invalid and nothing was written. [ratelimit.ErrUnavailable] means that it
// is unknown whether the call took effect, unless [ErrNotSent] says that it did not. [ErrLeaseLost] means that another
// sender has the lease, and nothing was written. A refusal by a limit is a [Decision], not an error.
package store

import (
	"context"
	"time"

	"slackrelay/ratelimit"
)

// Store is the state machine of all channels. The methods that read or write one channel take it as their first argument
// after the context.
type Store interface {
	Admissions
	Counts
	Queue
	DeadLetters
	Problems
	Budget
	Instances
	Replication
	Availability
}

// Admissions decides requests. The methods that return an [Answer] take 1 to [ratelimit.MaxBatch] requests, and decide them
// in order in one atomic step.
type Admissions interface {
	// Admit decides requests, each in the light of those before it, and commits those that pass. When it returns
	// [ratelimit.ErrUnavailable], repeat it with the same ids: nothing is spent twice. Script: admit.lua.
	Admit(ctx context.Context, channel Channel, requests []Request) (Answer, error)
	// Peek decides each request by itself, and spends and counts nothing. Script: peek.lua.
	Peek(ctx context.Context, channel Channel, requests []Request) (Answer, error)
	// Promote decides delayed messages again, by their numbers ([Request.Delayed]). Each is admitted, stays delayed, or is
	// dropped because it waited too long. It is not received again. Script: promote.lua.
	Promote(ctx context.Context, channel Channel, requests []Request) (Answer, error)
	// Force admits requests because an operator wants them posted whatever the limits are. They spend no units, so that the
	// limits still apply to all other requests, and [Ledger.Forced] counts them. Script: force.lua.
	Force(ctx context.Context, channel Channel, requests []Request) (Answer, error)
	// Refund gives back the units of a request that certainly never reached its channel. Its id stays remembered. A
	// repeat, and the refund of a request that was never admitted, change nothing. The delayed messages of the channel are
	// due then. Script: refund.lua.
	Refund(ctx context.Context, channel Channel, request Request) error
	// Reset empties levels of the channel: nothing that was admitted before counts any more. The delayed messages of the
	// channel are due then. Script: reset.lua, once for each level.
	Reset(ctx context.Context, channel Channel, levels ...ratelimit.Level) error
}

// DecideFunc is a method of [Admissions] that decides requests.
type DecideFunc func(ctx context.Context, channel Channel, requests []Request) (Answer, error)

// Counts reads and writes what a channel counts.
type Counts interface {
	// CountMuted counts n events that were received and muted. Script: count_muted.lua.
	CountMuted(ctx context.Context, channel Channel, n int64) error
	// Report reads the ledger and the state of a channel in one instant. Script: report.lua.
	Report(ctx context.Context, channel Channel) (Report, error)
	// Categories reads the counts of the last 24 hours, ordered by category. Script: series.lua.
	Categories(ctx context.Context, channel Channel) ([]CategoryCounts, error)
	// Minutes reads the counts of each minute and category since back ago, at most [MaxLookback], ordered by time and
	// category; what is 0 is left out. now is the store's time. Script: series.lua, once for each hour.
	Minutes(ctx context.Context, channel Channel, back time.Duration) (now time.Time, all []MinuteCount, err error)
	// Drops reads the log of drops, newest first: up to most that are older than the id before ("" = all). Script:
	// page.lua.
	Drops(ctx context.Context, channel Channel, before string, most int) ([]Drop, error)
	// Statuses reads the state of channels and of one level of each, in few round trips: one instant for each channel. It
	// remembers how long the levels look back. Script: report.lua, once for each query.
	Statuses(ctx context.Context, queries []StatusQuery) ([]ChannelStatus, error)
}

// Queue hands out the entries of a channel's outbox, and takes reports of what happened to them. The methods that take a
// claimed [Entry] return [ErrLeaseLost] when another sender has the lease, or claimed the entry since.
type Queue interface {
	// Claim claims the next entry of the channel if this sender may send it now. It never blocks. With look, an entry
	// that could be posted or edited is not claimed: the state is PostReady or EditReady. Script: claim.lua.
	Claim(ctx context.Context, channel Channel, terms Terms, look bool) (Claim, error)
	// Renew renews the lease, and returns when it ends by this process's monotonic clock. Script: renew.lua.
	Renew(ctx context.Context, channel Channel) (until time.Time, err error)
	// Release ends this sender's lease; without one it does nothing. Script: release.lua.
	Release(ctx context.Context, channel Channel) error

	// Ack removes an entry that reached Slack, and counts it as delivered. Script: ack.lua.
	Ack(ctx context.Context, channel Channel, entry Entry, receipt Receipt) error
	// AckClaim acknowledges an entry as Ack does, and claims the next one as Claim does, in one call. After an error, call
	// Ack, which repeats what this call may have done. Script: ack_claim.lua.
	AckClaim(ctx context.Context, channel Channel, delivered Delivery, terms Terms, look bool) (Claim, error)
	// Retry leaves an entry in its place, makes it or its channel wait as the plan says, and ends the lease. Script:
	// retry.lua.
	Retry(ctx context.Context, channel Channel, entry Entry, plan RetryPlan) error
	// Bury moves an entry that can never reach Slack to the dead letters, and counts it as failed. Script: bury.lua.
	Bury(ctx context.Context, channel Channel, entry Entry, reason DeadReason) error
	// Expire removes a message that is too old, and counts it as expired, unless its resolve took its place since it was
	// claimed. The next digest contains digestCounts, keyed as [Digest.Counts] is. Script: expire.lua.
	Expire(ctx context.Context, channel Channel, entry Entry, digestCounts map[string]int64) error
	// Discard removes an extra that has nothing left to report. Script: discard.lua.
	Discard(ctx context.Context, channel Channel, entry Entry) error

	// Append queues an extra, once: its id is remembered for [AppendDedupe]. Script: append.lua.
	Append(ctx context.Context, channel Channel, id, kind string, payload []byte) error
	// Digest queues a digest, or an edit of one, where it is due. Script: digest.lua.
	Digest(ctx context.Context, channel Channel, terms DigestTerms) error
	// Pause stops the channel's sending for a time; 0 resumes it, whatever it waited for. What is admitted meanwhile stays
	// queued. Script: pause.lua.
	Pause(ctx context.Context, channel Channel, wait time.Duration, reason string) error
	// PostedMessage returns what is remembered of a message by its number; nil = nothing. Script: posted_message.lua.
	PostedMessage(ctx context.Context, channel Channel, number int64) (*PostedMessage, error)
	// Mark sets or removes a mark of a posted message, and queues an edit that shows it, in one atomic step. A repeat changes
	// nothing. It returns the message as it is then; nil with [MarkNoMessage]. Script: mark.lua.
	Mark(ctx context.Context, channel Channel, change MarkChange) (MarkResult, *PostedMessage, error)
	// Delayed lists the delayed messages that may be promoted next: the oldest of each category, of at most [MaxDelayed]
	// categories. Script: delayed.lua.
	Delayed(ctx context.Context, channel Channel) ([]DelayedMessage, error)

	// Due returns which of the channels have something due now, earliest first, at most [MaxDue] in one call. A channel
	// that is due may turn out to have nothing that can go on: its claim, or its promotion, says so, and when to look
	// again. On a Redis Cluster, each call asks some of the limit groups of the channels, and the next call those that
	// follow; with all, one call asks all of them. When some servers do not answer, the work that others returned comes
	// with the error, which is [ErrPartial] then. Script: due.lua.
	Due(ctx context.Context, among []Channel, all bool) (work []Work, err error)
}

// DeadLetters reads and deletes what could never be delivered.
type DeadLetters interface {
	// DeadLetters lists dead letters, newest first: up to most that are older than the id before ("" = all). Script:
	// page.lua.
	DeadLetters(ctx context.Context, channel Channel, before string, most int) ([]DeadLetter, error)
	// DeleteDead deletes dead letters, and returns how many there were. The ledger still counts them. Script: remove.lua.
	DeleteDead(ctx context.Context, channel Channel, ids ...string) (int, error)
}

// Budget is what all channels with one Slack credential share. workspace is a hash of the credential.
type Budget interface {
	// ReserveCalls reserves as many of the wanted calls as the budget allows now: none while the credential is paused. Script:
	// budget_reserve.lua.
	ReserveCalls(ctx context.Context, workspace string, wanted Calls) (Reservation, error)
	// PauseCredential stops all calls with the credential for a time; 0 ends a pause. Script: credential_pause.lua.
	PauseCredential(ctx context.Context, workspace, reason string, wait time.Duration) error
	// CredentialPaused returns for how long the credential stays paused, and why; 0 = it is not paused. Script:
	// credential_paused.lua.
	CredentialPaused(ctx context.Context, workspace string) (wait time.Duration, reason string, err error)
}

// Instances keeps the channels that templates made. All processes share them.
type Instances interface {
	// UseInstance notes that an instance is used now. It makes the instance if there is none of its name and its template has
	// fewer than most; 0 = no bound. It returns the instance of that name, which may be of another template, and the zero value
	// if it was refused. Script: instance_use.lua.
	UseInstance(ctx context.Context, instance Instance, most int64) (Instance, error)
	// ChangedInstances returns all instances, ordered by name, and their revision, if that is not the one that the caller
	// knows; else only the revision. 0 is the revision of a store without instances. Script: instances.lua.
	ChangedInstances(ctx context.Context, known int64) (revision int64, all []Instance, err error)
	// IdleInstances lists instances that were not used for a time, the idlest first, at most [MaxIdleInstances]. Script:
	// instances_idle.lua.
	IdleInstances(ctx context.Context, idle time.Duration) ([]IdleInstance, error)
	// RemoveInstance removes an instance that was not used for a time, and reports whether it did. Script: instance_remove.lua.
	RemoveInstance(ctx context.Context, name string, idle time.Duration) (removed bool, err error)
	// ForgetChannel deletes the ledger of a channel, and all else that is kept of it but what expires by itself, unless it has work,
	// dead letters or drops, or had events in this hour or the one before. It reports whether nothing is left. Script:
	// forget_channel.lua.
	ForgetChannel(ctx context.Context, channel Channel) (forgotten bool, err error)
}

// Replication is what package ratelimit/replica needs, which decides by itself while the store is unavailable.
type Replication interface {
	// Restore adds requests that were admitted elsewhere while the store was away, with what happened to each since
	// ([Request.Result]), whatever the limits are now. A request without a result waits; one without Enqueue was
	// delivered. A repeat with the same id changes nothing. Script: restore.lua.
	Restore(ctx context.Context, channel Channel, requests []Request, id MergeID) error
	// MergeCounts adds counts of events that were dropped elsewhere. A repeat with the same id changes nothing. Script:
	// merge_counts.lua.
	MergeCounts(ctx context.Context, channel Channel, id MergeID, counts LocalCounts) error
	// Heartbeat announces a replica, or its end, and returns what is known of the others. Script: heartbeat.lua.
	Heartbeat(ctx context.Context, beat Heartbeat) (HeartbeatReply, error)
	// Memory returns how many bytes are used where a channel is stored, and how many may be; 0 = no bound. Script:
	// memory.lua.
	Memory(ctx context.Context, channel Channel) (used, most int64, err error)
}

// Availability reports whether a store can be used and relied on.
type Availability interface {
	// Ping returns an error unless decisions can be made now.
	Ping(ctx context.Context) error
	// Durable reports whether an admission survives the end of this process.
	Durable() bool
}
