package memory

import (
	"context"
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Ack implements [Outbox].
func (m *Store) Ack(_ context.Context, channel store.Channel, entry store.Entry, receipt store.Receipt) error {
	return m.settle(channel, entry, store.Delivered, func(tx *Tx, kept *Entry) {
		m.end(tx, channel, kept, store.OutageResult{Result: store.Delivered, Channel: receipt.Channel, TS: receipt.TS})
		posted := Look[Posted](tx, channel.Keys().Posted())
		if record := posted.Record(entry.Number); record != nil {
			record.TS, record.Channel, record.InSlack = receipt.TS, receipt.Channel, true
		}
	})
}

// Bury implements [Outbox].
func (m *Store) Bury(_ context.Context, channel store.Channel, entry store.Entry, death store.DeadReason) error {
	return m.settle(channel, entry, store.Failed, func(tx *Tx, kept *Entry) {
		m.end(tx, channel, kept, store.OutageResult{
			Result: store.Failed, Reason: death.Reason, Answer: death.Answer, Attempts: kept.Attempts, MaybePosted: death.MaybePosted, KeepDeadLetters: m.opts.DeadLetters,
		})
		Value[DeadLetters](tx, channel.Keys().Dead()).Bury(store.DeadLetter{
			At: tx.Time, Number: kept.Number, Kind: kept.Kind, Payload: kept.Payload,
			Reason: death.Reason, Answer: death.Answer, Attempts: kept.Attempts,
		}, m.opts.DeadLetters)
		if death.CopyTo != nil {
			Value[Queue](tx, death.CopyTo.Keys().Outbox()).Put(tx.Now, tx.Now, store.KindCopy, kept.Payload)
		}
		posted := Value[Posted](tx, channel.Keys().Posted())
		record := posted.Record(kept.Number)
		switch {
		case !death.MaybePosted:
			posted.Forget(kept.Number)
		case record != nil:
			record.TS, record.Channel, record.InSlack = "", "", true
		}
	})
}

// Expire implements [Outbox].
func (m *Store) Expire(_ context.Context, channel store.Channel, entry store.Entry, noted map[string]int64) error {
	return m.settle(channel, entry, store.Expired, func(tx *Tx, expired *Entry) {
		m.end(tx, channel, expired, store.OutageResult{Result: store.Expired})
		Value[Posted](tx, channel.Keys().Posted()).Forget(entry.Number)
		if len(noted) > 0 {
			Value[Digest](tx, channel.Keys().Digest()).Note(tx.Now, noted)
		}
	})
}

// Drop implements [Outbox].
func (m *Store) Discard(_ context.Context, channel store.Channel, entry store.Entry) error {
	isMessage := false
	m.data.Do(func(tx *Tx) {
		found, extra := find(tx, channel, entry)
		isMessage = found != nil && !extra
	})
	if isMessage {
		return fmt.Errorf("settle gone in channel %s: a message is never just gone", channel.Name)
	}
	return m.settle(channel, entry, "gone", func(*Tx, *Entry) {})
}

// find is what waits under the name of an entry, and whether it is an extra; nil = it is gone.
func find(tx *Tx, channel store.Channel, entry store.Entry) (found *Entry, extra bool) {
	found, extra = Look[Queue](tx, channel.Keys().Outbox()).Find(entry.Number)
	if found == nil || found.At != entry.AdmittedAt {
		return nil, false
	}
	return found, extra
}

// settle takes an entry out and counts it, then runs f. All but a delivery is refused where another claim followed.
func (m *Store) settle(channel store.Channel, entry store.Entry, result string, f func(tx *Tx, kept *Entry)) error {
	return m.fenced("settle "+result, channel, func(tx *Tx, _ *lease) error {
		found, extra := find(tx, channel, entry)
		switch {
		case found == nil:
			return nil
		case result != store.Delivered && found.Attempts > entry.Attempts+1:
			return store.ErrLeaseLost
		}
		kept, counted := *found, result
		Look[Queue](tx, channel.Keys().Outbox()).Remove(kept.Number)
		if extra {
			counted = kept.Kind + ":" + result
		}
		Value[Counts](tx, channel.Keys().Ledger()).Add(counted, 1)
		Look[ratelimit.BacklogQueue](tx, entry.Backlog).Leave(kept.Number)
		f(tx, &kept)
		return nil
	})
}
