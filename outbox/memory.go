package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// bound forgets the oldest letters, above a number and above so many bytes.
func (d *deadLetters) bound(most int) {
	kept, bytes := len(d.letters), 0
	for ; kept > 0 && len(d.letters)-kept < most; kept-- {
		if bytes += len(d.letters[kept-1].Payload) + memstore.RecordBytes; bytes > memstore.MaxDeadBytes {
			break
		}
	}
	d.letters = slices.Delete(d.letters, 0, kept)
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
		dead.bound(int(m.opts.DeadLetters))
		if death.Copy != nil {
			memstore.Value[memstore.Outbox](tx, death.Copy.keys().Outbox()).Put(tx.Now, tx.Now, KindCopy, entry.Payload)
		}
		if !death.Shown {
			memstore.Value[memstore.Posted](tx, channel.keys().Posted()).Forget(number)
		}
	})
}

// Expire implements [Outbox].
func (m *Memory) Expire(_ context.Context, channel Channel, entry Entry, noted map[string]int64) error {
	return m.settleAt("settle expired", channel, entry.Number, entry.At, "expired", func(tx *memstore.Tx, _ *memstore.Entry) {
		memstore.Value[memstore.Posted](tx, channel.keys().Posted()).Forget(entry.Number)
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
	return m.settleAt(verb, channel, number, 0, result, f)
}

// settleAt is settle for an entry that was admitted at a time; 0 = at any.
func (m *Memory) settleAt(verb string, channel Channel, number, at int64, result string, f func(tx *memstore.Tx, entry *memstore.Entry)) error {
	return m.fenced(verb, channel, func(tx *memstore.Tx, _ *lease) {
		box := memstore.Look[memstore.Outbox](tx, channel.keys().Outbox())
		found, extra := box.Find(number)
		if found == nil || at > 0 && found.At != at {
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

// Hold implements [Outbox].
func (m *Memory) Hold(_ context.Context, channel Channel, wait time.Duration, reason string) error {
	m.store.Do(func(tx *memstore.Tx) {
		pause := memstore.Value[memstore.Pause](tx, channel.keys().Pause())
		*pause = memstore.Pause{}
		if wait > 0 {
			until := tx.Now + wait.Microseconds()
			*pause = memstore.Pause{Until: until, Reason: reason, Edits: until}
		}
	})
	return nil
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
