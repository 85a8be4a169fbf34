package ratelimit

import (
	"strconv"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// before is what becomes of a request because of what was posted before.
func (t *telling) before(r *Request) verdict {
	e, name := r.Event, "f:"+r.Event.Fingerprint
	if e.Answers != "" {
		n, record := t.posted.Find("f:" + e.Answers)
		if record == nil {
			n = 0
		}
		return verdict{thread: n}
	}
	if e.Fingerprint == "" || e.Status == "" {
		return verdict{}
	}
	n, record := t.posted.Find(name)
	if e.Status == Firing {
		if record == nil || !t.h.Repeats || silent(record) {
			return verdict{}
		}
		record.Repeats++
		record.Last = t.now
		t.edit(n, record, t.later(record))
		return verdict{outcome: Merged, folded: true}
	}
	switch {
	case record == nil && t.h.Overflow == OverflowDelay && t.mode != modePromote && len(t.box.Delayed) > 0:
		return verdict{outcome: Delayed, folded: true}
	case record == nil:
		return verdict{outcome: Suppressed, folded: true}
	case e.Status == Update && silent(record):
		return verdict{}
	case e.Status == Update:
		t.replace(n, record, r)
		return verdict{outcome: Merged, folded: true}
	case len(record.Events) == 1 && record.More == 0 && t.waits(n):
		entry, _ := t.box.Find(n)
		entry.At, entry.Payload, entry.Attempts, entry.Faults, entry.Name = t.now, r.payload(), 0, 0, ""
		t.posted.Forget(n)
		memstore.Value[memstore.Counts](t.tx, t.scope.keys().Ledger()).Add("superseded", 1)
		return verdict{outcome: Admitted, folded: true}
	}
	marked := false
	for i := range record.Events {
		told := &record.Events[i]
		if t.h.Resolves == ResolvesEdit && !silent(record) && told.Fingerprint == e.Fingerprint && told.Payload != "" {
			told.Resolved, marked = t.now, true
		}
	}
	if !marked {
		return verdict{thread: n}
	}
	t.edit(n, record, t.now)
	delete(t.posted.Newest, name)
	return verdict{outcome: Merged, folded: true}
}

// replace says a message anew in other words: where it waits, or by an edit.
func (t *telling) replace(number int64, record *lua.Record, r *Request) {
	for i := range record.Events {
		if record.Events[i].Fingerprint == r.Event.Fingerprint {
			record.Events[i].Payload = string(r.payload())
		}
	}
	if !t.waits(number) {
		t.edit(number, record, t.now)
		return
	}
	entry, _ := t.box.Find(number)
	entry.At, entry.Payload = t.now, r.payload()
	t.touch(number, record)
}

// heard notes an admission, so that the digest knows which categories got something through.
func (t *telling) heard(r *Request) {
	if t.h.Digest {
		noteHeard(t.tx, t.scope, r.Category)
	}
}

func noteHeard(tx *memstore.Tx, scope Scope, category string) {
	memstore.Value[memstore.Told](tx, scope.keys().Told()).Admit(category, tx.Now, tx.Now-2*seriesFor.Microseconds())
}

// shown is for a message that is to be told of later.
func (t *telling) shown(v verdict, r *Request) {
	t.heard(r)
	resolves := r.Event.Status == Resolved
	if v.thread > 0 && resolves {
		delete(t.posted.Newest, "f:"+r.Event.Fingerprint)
	}
	if entry, _ := t.box.Find(v.number); entry != nil && v.thread > 0 && (!resolves || t.h.Resolves == ResolvesReply) {
		entry.Thread = v.thread
	}
	if r.Event.Status == Resolved || r.Event.Fingerprint == "" && t.h.Overflow != OverflowMerge {
		return
	}
	record := &lua.Record{
		Category: r.Category, At: t.now, Events: []lua.RecordEvent{{Fingerprint: r.Event.Fingerprint, Payload: string(r.payload())}},
	}
	t.touch(v.number, record)
	if r.Event.Fingerprint != "" {
		t.point("f:"+r.Event.Fingerprint, v.number)
	}
	if t.h.Overflow == OverflowMerge {
		t.point("c:"+r.Category, v.number)
	}
}

func (t *telling) touch(number int64, record *lua.Record) {
	t.posted.Touch(number, record, t.now)
}

func (t *telling) point(name string, number int64) { t.posted.Newest[name] = number }

// edit has a message said anew, at a time; an edit that nobody began to send will do.
func (t *telling) edit(number int64, record *lua.Record, at int64) {
	t.touch(number, record)
	if last, _ := t.box.Find(record.Edit); last != nil && last.Sent == 0 {
		if record.Due > at {
			record.Due = at
			t.box.Postpone(record.Edit, at)
		}
		return
	}
	record.Edit, record.Due = t.box.Put(t.now, at, "edit", strconv.AppendInt(nil, number, 10)), at
}

func (t *telling) later(record *lua.Record) int64 {
	return max(t.now, record.Due+t.h.editEvery().Microseconds())
}

// waits tells whether a message is in the outbox and nobody began to send it.
func (t *telling) waits(number int64) bool {
	entry, extra := t.box.Find(number)
	return entry != nil && !extra && entry.Sent == 0
}

// recordJoined adds an event to what is kept of its bundle's message.
func (t *telling) recordJoined(first *lead, r *Request) {
	record, told := t.posted.Record(first.number), r.Event.Status != Resolved && r.Event.Fingerprint != ""
	switch {
	case record == nil && !told:
		return
	case record == nil:
		record = &lua.Record{Category: first.category, At: t.now, More: int64(first.count) - 1}
	}
	if told && len(record.Events) < maxBundled && first.kept+len(r.payload()) < maxBundle {
		first.kept += len(r.payload())
		record.Events = append(record.Events, lua.RecordEvent{Fingerprint: r.Event.Fingerprint, Payload: string(r.payload())})
	} else {
		record.More++
	}
	t.touch(first.number, record)
	if told {
		t.point("f:"+r.Event.Fingerprint, first.number)
	}
}

// hold counts a request on the last message of its category.
func (t *telling) hold(r *Request) Outcome {
	n, record := t.posted.Find("c:" + r.Category)
	if record == nil || silent(record) {
		return Dropped
	}
	record.Held++
	record.HeldAt, record.HeldTitle = t.now, r.Event.Title
	t.edit(n, record, t.later(record))
	return Merged
}
