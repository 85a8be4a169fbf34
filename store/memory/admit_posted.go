package memory

import (
	"strconv"

	"slackrelay/store"
)

// before is what becomes of a request because of what was posted before.
func (t *telling) before(r *store.Request) verdict {
	e, name := r.Event, "f:"+r.Event.Fingerprint
	if e.ReplyTo != "" {
		n, record := t.posted.Find("f:" + e.ReplyTo)
		if record == nil {
			n = 0
		}
		return verdict{thread: n}
	}
	if e.Fingerprint == "" || e.Status == "" {
		return verdict{}
	}
	n, record := t.posted.Find(name)
	if e.Status == store.Firing {
		return t.again(n, record, r)
	}
	nothing := record == nil || e.Status == store.Resolved && toldOf(record, e.Fingerprint) == toldOver
	switch {
	case nothing && t.h.Overflow == store.OverflowDelay && t.Mode != store.ModePromote && len(t.box.Delayed) > 0:
		return verdict{outcome: store.Delayed, folded: true}
	case nothing:
		return verdict{outcome: store.Suppressed, folded: true}
	case e.Status == store.Update && locationUnknown(record):
		return verdict{}
	case e.Status == store.Update:
		t.replace(n, record, r)
		return verdict{outcome: store.Merged, folded: true}
	case eventCount(record) == 1 && t.waits(n):
		t.over(n, record, e.Fingerprint, true)
		entry, _ := t.box.Find(n)
		entry.At, entry.Payload, entry.Attempts, entry.Faults, entry.Name = t.now, r.Payload(), 0, 0, ""
		t.posted.Forget(n)
		Value[Counts](t.tx, t.scope.Keys().Ledger()).Add("superseded", 1)
		return verdict{outcome: store.Admitted, folded: true}
	case !t.canEdit(record):
		return verdict{thread: n}
	}
	t.over(n, record, e.Fingerprint, false)
	return verdict{outcome: store.Merged, folded: true}
}

// replace says a message anew in other words: where it waits, or by an edit.
func (t *telling) replace(number int64, record *store.PostedMessage, r *store.Request) {
	for i := range record.Events {
		if record.Events[i].Fingerprint == r.Event.Fingerprint {
			record.Events[i].Payload = string(r.Payload())
		}
	}
	if !t.waits(number) {
		t.edit(number, record, t.now)
		return
	}
	entry, _ := t.box.Find(number)
	entry.At, entry.Payload = t.now, r.Payload()
	t.touch(number, record)
}

// heard notes an admission, so that the digest knows which categories got something through.
func (t *telling) heard(r *store.Request) {
	if t.h.Digest {
		noteHeard(t.tx, t.scope, r.Category)
	}
}

func noteHeard(tx *Tx, scope store.Channel, category string) {
	Value[Told](tx, scope.Keys().Told()).Admit(category, tx.Now, tx.Now-2*store.SeriesTTL.Microseconds())
}

// shown is for a message that is to be told of later.
func (t *telling) shown(v verdict, r *store.Request) {
	t.heard(r)
	resolves := r.Event.Status == store.Resolved
	if v.thread > 0 && resolves {
		t.over(v.thread, t.posted.Record(v.thread), r.Event.Fingerprint, false)
	}
	if entry, _ := t.box.Find(v.number); entry != nil && v.thread > 0 && (!resolves || t.h.Resolves == store.ResolvesReply) {
		entry.Thread = v.thread
	}
	waited := t.posted.Record(r.Delayed)
	switch {
	case r.Delayed > 0 && isBundle(r) && waited != nil:
		t.adopt(v.number, r.Delayed, waited)
	case resolves || r.Event.Fingerprint == "" && t.h.Overflow != store.OverflowMerge:
		return
	default:
		record := t.newRecord(r)
		t.touch(v.number, record)
		if r.Event.Fingerprint != "" {
			t.follow(v.number, record, r.Event.Fingerprint)
		}
	}
	if t.h.Overflow == store.OverflowMerge {
		t.point("c:"+r.Category, v.number)
	}
}

func (t *telling) touch(number int64, record *store.PostedMessage) {
	t.posted.Touch(number, record, t.now)
}

func (t *telling) point(name string, number int64) { t.posted.Newest[name] = number }

// edit has a message said anew, at a time; an edit that nobody began to send will do.
func (t *telling) edit(number int64, record *store.PostedMessage, at int64) {
	t.touch(number, record)
	if last, _ := t.box.Find(record.LastEdit); last != nil && last.Sent == 0 {
		if record.EditDue > at {
			record.EditDue = at
			t.box.Postpone(record.LastEdit, at)
		}
		return
	}
	record.LastEdit, record.EditDue = t.box.Put(t.now, at, "edit", strconv.AppendInt(nil, number, 10)), at
}

func (t *telling) later(record *store.PostedMessage) int64 {
	return max(t.now, record.EditDue+t.h.EditInterval().Microseconds())
}

// waits tells whether a message is in the outbox and nobody began to send it.
func (t *telling) waits(number int64) bool {
	entry, extra := t.box.Find(number)
	return entry != nil && !extra && entry.Sent == 0
}

// hold counts a request on the last message of its category.
func (t *telling) hold(r *store.Request) store.Outcome {
	n, record := t.posted.Find("c:" + r.Category)
	if record == nil || locationUnknown(record) {
		return store.Dropped
	}
	record.Merged++
	record.MergedAt, record.MergedTitle = t.now, r.Event.Title
	t.edit(n, record, t.later(record))
	return store.Merged
}
