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
package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// Channel says whose outbox, and in which limit group its keys are.
type Channel struct {
	Group string
	Name  string
	// Backlog is the key of a level of the strategy backlog, which an entry leaves when it is settled for
	// good; "" = there is none.
	Backlog string
}

func (c Channel) keys() lua.Keys { return lua.KeysOf(c.Group, c.Name) }

// Pace is how fast a channel sends: one message per Every, at most Burst at once.
type Pace struct {
	Every time.Duration // 0 = no pace
	Burst int64         // 1 or more
}

// Terms are what a channel's messages are sent under.
type Terms struct {
	Pace Pace
	// TTL is how old a message may be when it is sent; 0 = any age.
	TTL time.Duration
	// Settle is how long after an attempt of which nobody knows whether it arrived it can be looked up in Slack;
	// 0 = it cannot be.
	Settle time.Duration
	Digest DigestTerms
}

// DigestTerms say when a digest is due.
type DigestTerms struct {
	Interval time.Duration // at most one in that time; 0 = none
	// Every is the time between two edits of a digest that is posted soon after the first drop, a third of it later; 0 =
	// one post at the interval's end.
	Every   time.Duration
	Minimum int64 // how much it must have to tell
}

// check finds terms that make no sense.
func (t Terms) check() error {
	if t.Pace.Every < 0 || t.Pace.Burst < 1 {
		return errors.New("a pace of 0 or more and burst of 1 or more are needed")
	}
	return nil
}

// State says what a claim found.
type State int

// The states, by their codes in lua/claim.lua.
const (
	Empty     State = iota // nothing waits
	Claimed                // Entry may be sent now
	Held                   // another sender has the lease
	Paused                 // the channel is paused
	Paced                  // the pace allows nothing yet
	Stale                  // Entry is claimed, and older than its time to live
	DigestDue              // [Outbox.Digest] has something to do
	PostReady              // on a look: something may be posted now
	EditReady              // on a look: something may be edited now
	Settling               // the next entry may have been posted, and it is too early to look
)

// Claim is the answer to the wish to send.
type Claim struct {
	State State
	// Wait is how long the state lasts at most; 0 where it does not end by itself.
	Wait time.Duration
	// Entry is set when Claimed or Stale.
	Entry Entry
	// Until is when the lease ends, by this process's monotonic clock, reckoned from before the call; it
	// is set when Claimed or Stale. A send must not outlast it.
	Until time.Time
}

// The kinds of extras.
const (
	KindEdit       = "edit"        // of a message: its payload is the message's number
	KindDigest     = "digest"      // what was dropped
	KindDigestEdit = "digest-edit" // a digest that grew
	KindNotice     = "notice"      // something that the operators must know
	KindCopy       = "copy"        // of a message that its own destination refused
)

// Entry is one thing that waits.
type Entry struct {
	Number   int64         // its place in the order of the channel
	Kind     string        // "message", or the kind of an extra
	Payload  []byte        // what was enqueued
	Attempts int64         // how often it was claimed before
	Faults   int64         // how many of those failed through what may be its own fault
	Age      time.Duration // since its admission
	At       int64         // when it was admitted, microseconds of Redis's clock; with Number, it names the entry for ever
	// Doubt is since when, by Redis's clock, it is not known whether it was posted; zero = it was not. Looked is
	// how often it was looked up since the last attempt.
	Doubt  time.Time
	Looked int64
	Thread int64 // the number of the message that it answers; 0 = none
	// Name is what it was posted as, "<number>@<admitted at>", by a replica that could not reach Redis; "" = its own
	// number and admission.
	Name string
}

// PostedAs is what the entry is called in the metadata of its message.
func (e *Entry) PostedAs() string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("%d@%d", e.Number, e.At)
}

// Fate says whether a message that was tried appeared in Slack.
type Fate string

// The fates.
const (
	NotPosted Fate = "not-posted" // certainly not
	Unknown   Fate = "unknown"    // nobody knows
	Looked    Fate = "looked"     // it was looked up, and not found
	Again     Fate = "again"      // it was not found, and is to be sent once more
)

// Who waits after a failure.
const (
	ChannelWaits = "channel" // nothing is sent
	EditsWait    = "edits"   // nothing is edited
	EntryWaits   = "entry"   // this extra; a message makes its channel wait
)

// Pausing is what Retry does to the channel.
type Pausing struct {
	Wait   time.Duration // 0 = not at all
	Who    string        // who waits; "" = the channel
	Reason string        // why, for people and metrics
	Fault  bool          // the entry itself may be at fault: count it
	Fate   Fate          // "" = NotPosted
}

// Receipt is where a message is in Slack; webhooks do not tell.
type Receipt struct {
	Channel string
	TS      string
}

// Death says why an entry was buried.
type Death struct {
	Reason string // one of the notifier's reasons
	Answer string // the last thing Slack said
	// Copy is the outbox that gets a copy; nil = none does. It is of the same limit group.
	Copy *Channel
	// Shown says that the message may have appeared all the same.
	Shown bool
}

// DeadLetter is an entry that was buried.
type DeadLetter = memstore.DeadLetter

// Record is what is kept of a message that was admitted.
type Record = lua.Record

// Digest is the payload of a digest.
type Digest = lua.Digest

// Waiting is a message that waits for a slot.
type Waiting struct {
	Number  int64
	Payload []byte
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
	Retry(ctx context.Context, channel Channel, entry Entry, pausing Pausing) error
	// Bury moves an entry that can never reach Slack to the dead letters and counts it as failed.
	// A repeat is harmless.
	Bury(ctx context.Context, channel Channel, entry Entry, death Death) error
	// Expire deletes a message that is too old, and counts it as expired, unless its resolve took its place since it
	// was claimed. noted is what the next digest says of it, as in [Digest]. A repeat is harmless.
	Expire(ctx context.Context, channel Channel, entry Entry, noted map[string]int64) error
	// Drop deletes an extra that has nothing to say any more.
	Drop(ctx context.Context, channel Channel, entry Entry) error
	// Renew holds the lease a while longer, and says until when.
	Renew(ctx context.Context, channel Channel) (time.Time, error)
	// Release gives up the lease, if this sender has it.
	Release(ctx context.Context, channel Channel) error
	// Hold stops the channel's sending for a time, because somebody asked for it; 0 lets it go on, whatever it waited
	// for. What is admitted meanwhile waits.
	Hold(ctx context.Context, channel Channel, wait time.Duration, reason string) error
	// Digest has a digest posted or edited where one is due.
	Digest(ctx context.Context, channel Channel, terms DigestTerms) error
	// Put puts an extra in, once: the id is remembered for a day.
	Put(ctx context.Context, channel Channel, id, kind string, payload []byte) error
	// Record reads what is kept of a message; nil = nothing.
	Record(ctx context.Context, channel Channel, number int64) (*Record, error)
	// Delayed lists what waits for a slot and may be asked for next: the oldest of each category.
	Delayed(ctx context.Context, channel Channel) ([]Waiting, error)
	// DeadLetters lists dead letters, newest first: those older than the id before ("" = all), so many at most.
	DeadLetters(ctx context.Context, channel Channel, before string, most int) ([]DeadLetter, error)
	// DeleteDead deletes dead letters, and tells how many were there. Their count in the ledger stays.
	DeleteDead(ctx context.Context, channel Channel, ids ...string) (int, error)
}

// ErrLeaseLost is returned when another sender holds the lease, or claimed the entry since: nothing was changed, and
// the entry may be sent by that other sender too.
var ErrLeaseLost = errors.New("another sender holds the lease")
