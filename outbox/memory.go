package outbox

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// Memory is the engine of a single process without Redis. It shares its Store with the in-memory limiter,
// and follows the scripts step by step. The waits it answers are in wall time.
type Memory struct {
	store *memstore.Store
	opts  Options
	calls calls
}

var (
	_ Outbox = (*Memory)(nil)
	_ Budget = (*Memory)(nil)
)

// NewMemory makes a Memory engine.
func NewMemory(store *memstore.Store, opts Options) *Memory {
	return &Memory{store: store, opts: opts.WithDefaults()}
}

// pacing is when the bucket of a pace or a budget is empty again.
type pacing struct{ emptyAt int64 }

// Claim implements [Outbox].
func (m *Memory) Claim(ctx context.Context, channel Channel, terms Terms, look bool) (Claim, error) {
	if err := terms.check(); err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before, this := time.Now(), m.calls.begin(channel)
	var claim Claim
	m.store.Do(func(tx *memstore.Tx) {
		c := claiming{tx: tx, opts: m.opts, keys: channel.keys(), terms: terms, look: look, call: this}
		claim = c.claim()
	})
	if err := ctx.Err(); err != nil { // its caller is gone, as that of a call over a network may be
		m.calls.lose(channel, this.number)
		return Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	claim.Wait = m.store.Wall(claim.Wait)
	if claim.State == Claimed || claim.State == Stale {
		claim.Until = before.Add(m.store.Wall(m.opts.Lease))
	}
	return claim, nil
}

// Ack implements [Outbox].
func (m *Memory) Ack(_ context.Context, channel Channel, entry Entry, receipt Receipt) error {
	return m.settle(channel, entry, lua.Delivered, func(tx *memstore.Tx, kept *memstore.Entry) {
		m.end(tx, channel, kept, lua.Past{Result: lua.Delivered, Channel: receipt.Channel, TS: receipt.TS})
		posted := memstore.Look[memstore.Posted](tx, channel.keys().Posted())
		if record := posted.Record(entry.Number); record != nil {
			record.TS, record.Channel, record.Shown = receipt.TS, receipt.Channel, true
		}
	})
}

// Bury implements [Outbox].
func (m *Memory) Bury(_ context.Context, channel Channel, entry Entry, death Death) error {
	return m.settle(channel, entry, lua.Failed, func(tx *memstore.Tx, kept *memstore.Entry) {
		m.end(tx, channel, kept, lua.Past{
			Result: lua.Failed, Reason: death.Reason, Answer: death.Answer, Attempts: kept.Attempts, Shown: death.Shown, Keep: m.opts.DeadLetters,
		})
		memstore.Value[memstore.DeadLetters](tx, channel.keys().Dead()).Bury(memstore.DeadLetter{
			At: tx.Time, Number: kept.Number, Kind: kept.Kind, Payload: kept.Payload,
			Reason: death.Reason, Answer: death.Answer, Attempts: kept.Attempts,
		}, m.opts.DeadLetters)
		if death.Copy != nil {
			memstore.Value[memstore.Outbox](tx, death.Copy.keys().Outbox()).Put(tx.Now, tx.Now, KindCopy, kept.Payload)
		}
		posted := memstore.Value[memstore.Posted](tx, channel.keys().Posted())
		record := posted.Record(kept.Number)
		switch {
		case !death.Shown:
			posted.Forget(kept.Number)
		case record != nil:
			record.TS, record.Channel, record.Shown = "", "", true
		}
	})
}

// Expire implements [Outbox].
func (m *Memory) Expire(_ context.Context, channel Channel, entry Entry, noted map[string]int64) error {
	return m.settle(channel, entry, lua.Expired, func(tx *memstore.Tx, expired *memstore.Entry) {
		m.end(tx, channel, expired, lua.Past{Result: lua.Expired})
		memstore.Value[memstore.Posted](tx, channel.keys().Posted()).Forget(entry.Number)
		if len(noted) > 0 {
			memstore.Value[memstore.Digest](tx, channel.keys().Digest()).Note(tx.Now, noted)
		}
	})
}

// Drop implements [Outbox].
func (m *Memory) Drop(_ context.Context, channel Channel, entry Entry) error {
	isMessage := false
	m.store.Do(func(tx *memstore.Tx) {
		found, extra := find(tx, channel, entry)
		isMessage = found != nil && !extra
	})
	if isMessage {
		return fmt.Errorf("settle gone in channel %s: a message is never just gone", channel.Name)
	}
	return m.settle(channel, entry, "gone", func(*memstore.Tx, *memstore.Entry) {})
}

// find is what waits under the name of an entry, and whether it is an extra; nil = it is gone.
func find(tx *memstore.Tx, channel Channel, entry Entry) (found *memstore.Entry, extra bool) {
	found, extra = memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Find(entry.Number)
	if found == nil || found.At != entry.At {
		return nil, false
	}
	return found, extra
}

// settle takes an entry out and counts it, then runs f. All but a delivery is refused where another claim followed.
func (m *Memory) settle(channel Channel, entry Entry, result string, f func(tx *memstore.Tx, kept *memstore.Entry)) error {
	return m.fenced("settle "+result, channel, func(tx *memstore.Tx, _ *lease) error {
		found, extra := find(tx, channel, entry)
		switch {
		case found == nil:
			return nil
		case result != lua.Delivered && found.Attempts > entry.Attempts+1:
			return ErrLeaseLost
		}
		kept, counted := *found, result
		memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Remove(kept.Number)
		if extra {
			counted = kept.Kind + ":" + result
		}
		memstore.Value[memstore.Counts](tx, channel.keys().Ledger()).Add(counted, 1)
		memstore.Look[memstore.Backlog](tx, channel.Backlog).Leave(kept.Number)
		f(tx, &kept)
		return nil
	})
}

// Retry implements [Outbox].
func (m *Memory) Retry(_ context.Context, channel Channel, named Entry, p Pausing) error {
	return m.fenced("retry", channel, func(tx *memstore.Tx, held *lease) error {
		entry, extra := find(tx, channel, named)
		switch {
		case entry == nil:
			return nil
		case entry.Attempts > named.Attempts+1:
			return ErrLeaseLost
		}
		held.giveUp(m.opts.Owner)
		if p.Fault {
			entry.Faults++
		}
		switch Fate(p.fate()) {
		case NotPosted:
			entry.Sent, entry.Tried, entry.Looked, entry.Claim = 0, 0, 0, memstore.Claim{}
		case Looked:
			entry.Looked++
		case Again:
			entry.Again = true
		case Unknown:
			if entry.Sent == 0 {
				entry.Sent, entry.Tried = entry.At, tx.Now
			}
		}
		until := tx.Now + p.Wait.Microseconds()
		if extra && p.Who == EntryWaits {
			memstore.Look[memstore.Outbox](tx, channel.keys().Outbox()).Postpone(named.Number, until)
			return nil
		}
		pause := memstore.Value[memstore.Pause](tx, channel.keys().Pause())
		switch {
		case p.Who == EditsWait:
			pause.Edits = max(pause.Edits, until)
		case until > max(tx.Now, pause.Until):
			pause.Until, pause.Reason = until, p.Reason
		}
		return nil
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

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
