package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// Memory is the engine of a single process without Redis. It shares its Store with the in-memory limiter,
// and follows the scripts step by step. The waits it answers are in wall time.
type Memory struct {
	store *memstore.Store
	opts  Options
}

var (
	_ Outbox = (*Memory)(nil)
	_ Budget = (*Memory)(nil)
)

// NewMemory makes a Memory engine.
func NewMemory(store *memstore.Store, opts Options) *Memory {
	return &Memory{store: store, opts: opts.WithDefaults()}
}

type lease struct {
	owner   string
	until   int64
	inHand  int64 // the entry that was claimed and not settled yet
	stopped bool  // nothing is claimed: see TakeBack
}

// pacing is when the bucket of a pace or a budget is empty again.
type pacing struct{ emptyAt int64 }

type deadLetters struct {
	next    int64
	letters []DeadLetter
}

// Claim implements [Outbox].
func (m *Memory) Claim(_ context.Context, channel Channel, terms Terms, look bool) (Claim, error) {
	if err := terms.check(); err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before := time.Now()
	var claim Claim
	m.store.Do(func(tx *memstore.Tx) {
		c := claiming{tx: tx, opts: m.opts, keys: channel.keys(), terms: terms, look: look}
		claim = c.claim()
	})
	claim.Wait = m.store.Wall(claim.Wait)
	if claim.State == Claimed || claim.State == Stale {
		claim.Until = before.Add(m.store.Wall(m.opts.Lease))
	}
	return claim, nil
}

// claiming is one claim, step by step as in lua/claim.lua.
type claiming struct {
	tx    *memstore.Tx
	opts  Options
	keys  lua.Keys
	terms Terms
	look  bool

	every   int64 // the pace, microseconds
	emptyAt int64 // when its bucket is empty
	edits   int64 // until when nothing is edited
}

// candidate is an entry with what it may do now, and how long it may not.
type candidate struct {
	entry *memstore.Entry
	state State
	wait  int64
	edit  bool
	doubt bool
}

func (c *claiming) claim() Claim {
	if c.digestDue() {
		return Claim{State: DigestDue}
	}
	held := memstore.Value[lease](c.tx, c.keys.Lease())
	box := memstore.Look[memstore.Outbox](c.tx, c.keys.Outbox())
	head, due := box.Head(), box.Due(c.tx.Now)
	switch {
	case head == nil && due == nil:
		held.giveUp(c.opts.Owner)
		return Claim{State: Empty}
	case held.stopped:
		return Claim{State: Held, Wait: stoppedFor}
	case held.owner != "" && held.owner != c.opts.Owner && held.until > c.tx.Now:
		return Claim{State: Held, Wait: micros(held.until - c.tx.Now)}
	}
	if pause := memstore.Look[memstore.Pause](c.tx, c.keys.Pause()); pause != nil {
		c.edits = pause.Edits
		if pause.Until > c.tx.Now {
			held.giveUp(c.opts.Owner)
			return Claim{State: Paused, Wait: micros(pause.Until - c.tx.Now)}
		}
	}
	return c.take(held, head, due)
}

func (c *claiming) take(held *lease, head, due *memstore.Entry) Claim {
	bucket := memstore.Value[pacing](c.tx, c.keys.Pace())
	c.every, c.emptyAt = c.terms.Pace.Every.Microseconds()*c.opts.paceFactor(), max(c.tx.Now, bucket.emptyAt)
	chosen, blocked := c.choose(head, due)
	if chosen == nil {
		return Claim{State: blocked.state, Wait: micros(blocked.wait)}
	}
	entry := chosen.entry
	if chosen.state == Claimed && !chosen.doubt {
		switch {
		case c.look && chosen.edit:
			return Claim{State: EditReady}
		case c.look:
			return Claim{State: PostReady}
		case !chosen.edit:
			bucket.emptyAt = c.emptyAt + c.every
		}
		if entry.Sent == 0 {
			entry.Sent = c.tx.Now
		}
		entry.Tried, entry.Again, entry.Looked = c.tx.Now, false, 0
	}
	held.owner, held.until, held.inHand = c.opts.Owner, c.tx.Now+c.opts.Lease.Microseconds(), entry.Number
	entry.Attempts++
	claimed := Entry{
		Number: entry.Number, Kind: entry.Kind, Payload: entry.Payload, Attempts: entry.Attempts - 1, Faults: entry.Faults,
		Age: micros(c.tx.Now - entry.At), At: entry.At, Thread: entry.Thread,
	}
	if chosen.doubt {
		claimed.Doubt, claimed.Looked = time.UnixMicro(entry.Sent), entry.Looked
	}
	return Claim{State: chosen.state, Entry: claimed}
}

// choose finds what is next among the oldest message and the extra that has been due for longest; else what is
// blocked for the shortest time.
func (c *claiming) choose(head, due *memstore.Entry) (chosen, blocked *candidate) {
	var order []*candidate
	if head != nil {
		order = append(order, c.candidate(head, true))
	}
	if due != nil {
		order = append(order, c.candidate(due, false))
	}
	if len(order) == 2 && due.Due < head.At {
		order[0], order[1] = order[1], order[0]
	}
	for _, one := range order {
		switch {
		case one.state == Claimed || one.state == Stale:
			if chosen == nil {
				chosen = one
			}
		case blocked == nil || one.wait < blocked.wait:
			blocked = one
		}
	}
	return chosen, blocked
}

func (c *claiming) candidate(e *memstore.Entry, message bool) *candidate {
	one := &candidate{entry: e, state: Claimed, edit: strings.HasSuffix(e.Kind, KindEdit)}
	one.doubt = e.Sent > 0 && !e.Again && !one.edit
	blockedFor := func(wait int64, state State) {
		if one.wait = wait; wait > 0 {
			one.state = state
		}
	}
	switch {
	case one.edit:
		blockedFor(c.edits-c.tx.Now, Paused)
	case one.doubt:
		if settle := c.terms.Settle.Microseconds(); settle > 0 {
			blockedFor(e.Tried+settle*(1+2*e.Looked)-c.tx.Now, Settling)
		}
	case message && c.terms.TTL > 0 && c.tx.Now-e.At > c.terms.TTL.Microseconds():
		one.state = Stale
	default:
		blockedFor(c.emptyAt-(c.terms.Pace.Burst-1)*c.every-c.tx.Now, Paced)
	}
	return one
}

// Ack implements [Outbox].
func (m *Memory) Ack(_ context.Context, channel Channel, number int64, receipt Receipt) error {
	return m.settle("settle delivered", channel, number, "delivered", func(tx *memstore.Tx, _ *memstore.Entry) {
		posted := memstore.Look[memstore.Posted](tx, channel.keys().Posted())
		if record := posted.Record(number); record != nil {
			record.TS, record.Channel, record.Shown = receipt.TS, receipt.Channel, true
		}
	})
}

// Bury implements [Outbox].
func (m *Memory) Bury(_ context.Context, channel Channel, number int64, death Death) error {
	return m.settle("settle failed", channel, number, "failed", func(tx *memstore.Tx, entry *memstore.Entry) {
		dead := memstore.Value[deadLetters](tx, channel.keys().Dead())
		dead.next++
		dead.letters = append(dead.letters, DeadLetter{
			ID: fmt.Sprintf("%d-%d", tx.Now/1000, dead.next), At: tx.Time, Number: number, Kind: entry.Kind, Payload: entry.Payload,
			Reason: death.Reason, Answer: death.Answer, Attempts: entry.Attempts,
		})
		if over := len(dead.letters) - int(m.opts.DeadLetters); over > 0 {
			dead.letters = dead.letters[over:]
		}
		if death.Copy != nil {
			memstore.Value[memstore.Outbox](tx, death.Copy.keys().Outbox()).Put(tx.Now, tx.Now, KindCopy, entry.Payload)
		}
		if !death.Shown {
			memstore.Value[memstore.Posted](tx, channel.keys().Posted()).Forget(number)
		}
	})
}

// Expire implements [Outbox].
func (m *Memory) Expire(_ context.Context, channel Channel, number int64, noted map[string]int64) error {
	return m.settle("settle expired", channel, number, "expired", func(tx *memstore.Tx, _ *memstore.Entry) {
		memstore.Value[memstore.Posted](tx, channel.keys().Posted()).Forget(number)
		if len(noted) > 0 {
			memstore.Value[memstore.Digest](tx, channel.keys().Digest()).Note(tx.Now, noted)
		}
	})
}

// Drop implements [Outbox].
func (m *Memory) Drop(_ context.Context, channel Channel, number int64) error {
	isMessage := false
	m.store.Do(func(tx *memstore.Tx) {
		found, extra := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Find(number)
		isMessage = found != nil && !extra
	})
	if isMessage {
		return fmt.Errorf("settle gone in channel %s: a message is never just gone", channel.Name)
	}
	return m.settle("settle gone", channel, number, "gone", func(*memstore.Tx, *memstore.Entry) {})
}

// settle takes an entry out and counts it, then runs f.
func (m *Memory) settle(verb string, channel Channel, number int64, result string, f func(tx *memstore.Tx, entry *memstore.Entry)) error {
	return m.fenced(verb, channel, func(tx *memstore.Tx, _ *lease) {
		box := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox())
		found, extra := box.Find(number)
		if found == nil {
			return
		}
		entry := *found
		box.Remove(number)
		if extra {
			result = entry.Kind + ":" + result
		}
		memstore.Value[memstore.Counts](tx, channel.keys().Ledger()).Add(result, 1)
		memstore.Look[memstore.Backlog](tx, channel.Backlog).Leave(number)
		f(tx, &entry)
	})
}

// Retry implements [Outbox].
func (m *Memory) Retry(_ context.Context, channel Channel, number int64, p Pausing) error {
	return m.fenced("retry", channel, func(tx *memstore.Tx, held *lease) {
		held.giveUp(m.opts.Owner)
		box := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox())
		entry, extra := box.Find(number)
		if entry == nil {
			return
		}
		if p.Fault {
			entry.Faults++
		}
		switch Fate(p.fate()) {
		case NotPosted:
			entry.Sent, entry.Tried, entry.Looked = 0, 0, 0
		case Looked:
			entry.Looked++
		case Again:
			entry.Again = true
		case Unknown:
		}
		until := tx.Now + p.Wait.Microseconds()
		if extra && p.Who == EntryWaits {
			box.Postpone(number, until)
			return
		}
		pause := memstore.Value[memstore.Pause](tx, channel.keys().Pause())
		switch {
		case p.Who == EditsWait:
			pause.Edits = max(pause.Edits, until)
		case until > max(tx.Now, pause.Until):
			pause.Until, pause.Reason = until, p.Reason
		}
	})
}

// Renew implements [Outbox].
func (m *Memory) Renew(_ context.Context, channel Channel) (time.Time, error) {
	before, lost := time.Now(), false
	m.store.Do(func(tx *memstore.Tx) {
		held := memstore.Value[lease](tx, channel.keys().Lease())
		if lost = held.owner != m.opts.Owner; !lost {
			held.until = tx.Now + m.opts.Lease.Microseconds()
		}
	})
	if lost {
		return time.Time{}, fmt.Errorf("renew in channel %s: %w", channel.Name, ErrLeaseLost)
	}
	return before.Add(m.store.Wall(m.opts.Lease)), nil
}

// Release implements [Outbox].
func (m *Memory) Release(_ context.Context, channel Channel) error {
	m.store.Do(func(tx *memstore.Tx) { memstore.Value[lease](tx, channel.keys().Lease()).giveUp(m.opts.Owner) })
	return nil
}

// fenced runs f unless another sender holds the lease.
func (m *Memory) fenced(verb string, channel Channel, f func(tx *memstore.Tx, held *lease)) error {
	var lost bool
	m.store.Do(func(tx *memstore.Tx) {
		held := memstore.Value[lease](tx, channel.keys().Lease())
		if lost = held.owner != "" && held.owner != m.opts.Owner && held.until > tx.Now; lost {
			return
		}
		held.inHand = 0
		f(tx, held)
	})
	if lost {
		return fmt.Errorf("%s in channel %s: %w", verb, channel.Name, ErrLeaseLost)
	}
	return nil
}

func (l *lease) giveUp(owner string) {
	if l.owner == owner {
		*l = lease{stopped: l.stopped}
	}
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
