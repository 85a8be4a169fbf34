package memory

import (
	"cmp"
	"context"

	"slackrelay/store"
)

// restore implements [engine].
func (m *Store) Restore(_ context.Context, scope store.Channel, requests []store.Request, f store.MergeID) error {
	if err := store.Check(requests); err != nil {
		return err
	}
	m.data.Do(func(tx *Tx) {
		if newFold(tx, scope, f) {
			m.batch(tx, store.ModeRestore, scope, requests).run(requests)
		}
	})
	return nil
}

// endOf is how a request that is taken in ended; "" = it waits, or it is not taken in but decided now.
func (b *batch) endOf(r *store.Request) string {
	if b.Mode != store.ModeRestore {
		return ""
	}
	if r.Enqueue == nil {
		return cmp.Or(r.OutageResult().Result, store.Delivered)
	}
	return r.OutageResult().Result
}

// spends tells whether a request takes its units: what certainly never appeared gives them back.
func (b *batch) spends(r *store.Request) bool {
	return b.Mode != store.ModeRestore || r.OutageResult().KeepsSlot()
}

// restore writes down what became of a request while the engine was away, as lua/admit.lua does.
func (b *batch) Restore(number int64, r *store.Request) {
	past, end := r.OutageResult(), b.endOf(r)
	at := b.now - past.Age
	if b.told != nil && r.Event.Status == store.Resolved && r.Event.Fingerprint != "" {
		b.told.overSince(r.Event.Fingerprint, at)
	}
	switch {
	case end == "":
		b.enqueue(number, at, r, past)
		if b.told != nil {
			b.told.shown(verdict{number: number}, r)
			if record := b.told.posted.Record(number); record != nil {
				record.At = at
			}
		}
	case end == store.Failed:
		letter := store.DeadLetter{At: b.tx.Time, Number: number, Reason: past.Reason, Answer: past.Answer, Attempts: past.Attempts}
		if r.Enqueue != nil {
			letter.Kind, letter.Payload = string(r.Enqueue.Kind), r.Enqueue.Payload
		}
		Value[DeadLetters](b.tx, b.scope.Keys().Dead()).Bury(letter, max(1, past.KeepDeadLetters))
	case end == store.Delivered && b.told != nil:
		b.told.restored(number, r, at, past)
	}
}

// enqueue has a request that waits go on where it was.
func (b *batch) enqueue(number, at int64, r *store.Request, past store.OutageResult) {
	entry := Entry{
		Number: number, At: at, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
		Attempts: past.Attempts, Faults: past.Faults, Looked: past.Lookups, Again: past.SendAgain, Name: past.Name,
	}
	if past.FirstAttempt > 0 {
		entry.Sent = b.now - past.FirstAttempt
	}
	if past.LastAttempt > 0 {
		entry.Tried = b.now - past.LastAttempt
	}
	box := Value[Queue](b.tx, b.scope.Keys().Outbox())
	box.Entries = append(box.Entries, entry)
}

// silent tells that a message is in Slack, and nobody knows where: nothing can be said on it.
func locationUnknown(record *store.PostedMessage) bool { return record.InSlack && record.TS == "" }

// overSince says that an alert was over at a time: what fires after it is another.
func (t *telling) overSince(fingerprint string, at int64) {
	if n, record := t.posted.Find("f:" + fingerprint); record != nil && record.At <= at {
		t.over(n, record, fingerprint, false)
	}
}

// restored is for what was posted while the engine was away. Where nobody knows where it is, an older message of the same
// alert goes on standing for it, if something can be said on that.
func (t *telling) restored(number int64, r *store.Request, at int64, past store.OutageResult) {
	t.heard(r)
	fingerprint, merges := r.Event.Fingerprint, t.h.Overflow == store.OverflowMerge && past.TS != ""
	if r.Event.Status == store.Resolved || r.Event.Status == store.Update || fingerprint == "" && !merges {
		return
	}
	if fingerprint != "" {
		if _, before := t.posted.Find("f:" + fingerprint); before != nil && !locationUnknown(before) && (past.TS == "" || before.At > at) {
			return
		}
	}
	event := store.PostedEvent{Fingerprint: fingerprint}
	if past.TS != "" {
		event.Payload = string(r.Payload())
	}
	record := &store.PostedMessage{
		Category: r.Category, At: at, Events: []store.PostedEvent{event}, InSlack: true, TS: past.TS, Channel: past.Channel,
	}
	t.touch(number, record)
	if fingerprint != "" {
		t.follow(number, record, fingerprint)
	}
	if merges {
		t.point("c:"+r.Category, number)
	}
}
