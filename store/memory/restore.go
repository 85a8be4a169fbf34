package memory

import (
	"cmp"
	"context"

	"slackrelay/store"
)

// Restore implements [store.Replication]. It is the twin of lua/restore.lua.
func (s *Store) Restore(_ context.Context, channel store.Channel, requests []store.Request, id store.MergeID) error {
	if err := store.Check(store.ModeRestore, requests); err != nil {
		return err
	}
	s.do(channel, func(tx channelTx) {
		if tx.noteMerge(id) {
			s.newBatch(tx, store.ModeRestore, requests).run(requests)
		}
	})
	return nil
}

// resultOf returns the result of a request that is restored; "" = it waits, or it is not restored but decided now.
func (b *batch) resultOf(r *store.Request) string {
	if b.plan.Mode != store.ModeRestore {
		return ""
	}
	if r.Enqueue == nil {
		return cmp.Or(r.OutageResult().Result, store.Delivered)
	}
	return r.OutageResult().Result
}

// spendsUnits reports whether a request spends its units. A restored message that certainly never appeared spends none.
func (b *batch) spendsUnits(r *store.Request) bool {
	return b.plan.Mode != store.ModeRestore || r.OutageResult().KeepsSlot()
}

// writeDown writes down the result of a request that was admitted while the store was away: it waits, it was posted, or
// it is a dead letter.
func (b *batch) writeDown(number int64, r *store.Request) {
	past := r.OutageResult()
	result := b.resultOf(r)
	at := b.tx.now - past.Age
	if b.messages != nil && r.Event.Status == store.Resolved && r.Event.Fingerprint != "" {
		b.messages.endAlertSince(r.Event.Fingerprint, at)
	}
	switch {
	case result == "":
		b.restoreWaiting(number, at, r)
	case result == store.Failed:
		b.restoreFailed(number, r)
	case result == store.Delivered && b.messages != nil:
		b.messages.rememberDelivered(number, at, r)
	}
}

// restoreWaiting puts a request into the outbox, with the state of its attempts.
func (b *batch) restoreWaiting(number, at int64, r *store.Request) {
	past := r.OutageResult()
	waiting := entry{
		number: number, at: at, kind: string(r.Enqueue.Kind), payload: r.Enqueue.Payload,
		attempts: past.Attempts, faults: past.Faults, looked: past.Lookups, resend: past.SendAgain, name: past.Name,
	}
	if past.FirstAttempt > 0 {
		waiting.sent = b.tx.now - past.FirstAttempt
	}
	if past.LastAttempt > 0 {
		waiting.tried = b.tx.now - past.LastAttempt
	}
	outbox := b.tx.outbox()
	outbox.messages = append(outbox.messages, waiting)
	b.tx.lookNow(store.WorkSend)
	if b.messages == nil {
		return
	}
	b.messages.rememberAdmitted(decision{number: number}, r)
	if remembered := b.messages.posted.messages[number]; remembered != nil {
		remembered.At = at
	}
}

func (b *batch) restoreFailed(number int64, r *store.Request) {
	past := r.OutageResult()
	letter := store.DeadLetter{
		Number: number, Reason: past.Reason, Answer: past.Answer, Attempts: past.Attempts,
	}
	if r.Enqueue != nil {
		letter.Kind = string(r.Enqueue.Kind)
		letter.Payload = r.Enqueue.Payload
	}
	b.tx.bury(letter, max(1, past.KeepDeadLetters))
}
