package memory

import "slackrelay/store"

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
	outbox := lookOrCreate[queue](b.tx, b.keys.Outbox())
	outbox.messages = append(outbox.messages, waiting)
	if b.messages == nil {
		return
	}
	b.messages.rememberAdmitted(messageDecision{number: number}, r)
	if message := b.messages.posted.message(number); message != nil {
		message.At = at
	}
}

func (b *batch) restoreFailed(number int64, r *store.Request) {
	past := r.OutageResult()
	letter := store.DeadLetter{
		At: b.tx.time, Number: number, Reason: past.Reason, Answer: past.Answer, Attempts: past.Attempts,
	}
	if r.Enqueue != nil {
		letter.Kind = string(r.Enqueue.Kind)
		letter.Payload = r.Enqueue.Payload
	}
	lookOrCreate[deadLetters](b.tx, b.keys.Dead()).add(letter, max(1, past.KeepDeadLetters))
}
