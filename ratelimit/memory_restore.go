package ratelimit

import (
	"cmp"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// pastOf is what became of a request that is taken in; the zero value where that is not known.
func (r *Request) pastOf() Past {
	if r.past == nil {
		return Past{}
	}
	return r.past.Past
}

// endOf is how a request that is taken in ended; "" = it waits, or it is not taken in but decided now.
func (b *batch) endOf(r *Request) string {
	if b.mode != modeRestore {
		return ""
	}
	if r.Enqueue == nil {
		return cmp.Or(r.pastOf().Result, lua.Delivered)
	}
	return r.pastOf().Result
}

// spends tells whether a request takes its units: what certainly never appeared gives them back.
func (b *batch) spends(r *Request) bool { return b.mode != modeRestore || r.pastOf().Spent() }

// restore writes down what became of a request while the engine was away, as lua/admit.lua does.
func (b *batch) restore(number int64, r *Request) {
	past, end := r.pastOf(), b.endOf(r)
	at := b.now - past.Age
	if b.told != nil && r.Event.Status == Resolved && r.Event.Fingerprint != "" {
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
	case end == lua.Failed:
		letter := memstore.DeadLetter{At: b.tx.Time, Number: number, Reason: past.Reason, Answer: past.Answer, Attempts: past.Attempts}
		if r.Enqueue != nil {
			letter.Kind, letter.Payload = string(r.Enqueue.Kind), r.Enqueue.Payload
		}
		memstore.Value[memstore.DeadLetters](b.tx, b.scope.keys().Dead()).Bury(letter, max(1, past.Keep))
	case end == lua.Delivered && b.told != nil:
		b.told.restored(number, r, at, past)
	}
}

// enqueue has a request that waits go on where it was.
func (b *batch) enqueue(number, at int64, r *Request, past Past) {
	entry := memstore.Entry{
		Number: number, At: at, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
		Attempts: past.Attempts, Faults: past.Faults, Looked: past.Looked, Again: past.Again, Name: past.Name,
	}
	if past.Sent > 0 {
		entry.Sent = b.now - past.Sent
	}
	if past.Tried > 0 {
		entry.Tried = b.now - past.Tried
	}
	box := memstore.Value[memstore.Outbox](b.tx, b.scope.keys().Outbox())
	box.Entries = append(box.Entries, entry)
}

// silent tells that a message is in Slack, and nobody knows where: nothing can be said on it.
func silent(record *lua.Record) bool { return record.Shown && record.TS == "" }

// overSince says that an alert was over at a time: what fires after it is another.
func (t *telling) overSince(fingerprint string, at int64) {
	if n, record := t.posted.Find("f:" + fingerprint); record != nil && record.At <= at {
		t.over(n, record, fingerprint, false)
	}
}

// restored is for what was posted while the engine was away. Where nobody knows where it is, an older message of the same
// alert goes on standing for it, if something can be said on that.
func (t *telling) restored(number int64, r *Request, at int64, past Past) {
	t.heard(r)
	fingerprint, merges := r.Event.Fingerprint, t.h.Overflow == OverflowMerge && past.TS != ""
	if r.Event.Status == Resolved || r.Event.Status == Update || fingerprint == "" && !merges {
		return
	}
	if fingerprint != "" {
		if _, before := t.posted.Find("f:" + fingerprint); before != nil && !silent(before) && (past.TS == "" || before.At > at) {
			return
		}
	}
	event := lua.RecordEvent{Fingerprint: fingerprint}
	if past.TS != "" {
		event.Payload = string(r.payload())
	}
	record := &lua.Record{
		Category: r.Category, At: at, Events: []lua.RecordEvent{event}, Shown: true, TS: past.TS, Channel: past.Channel,
	}
	t.touch(number, record)
	if fingerprint != "" {
		t.follow(number, record, fingerprint)
	}
	if merges {
		t.point("c:"+r.Category, number)
	}
}
