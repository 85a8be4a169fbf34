package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"slackrelay/store"
)

// lead is the first request of a bundle, which the others join.
type lead struct {
	verdict
	category    string
	number      int64 // of its entry; 0 = none
	count, over int
	record      *store.PostedMessage
	kept, fresh bool // its record was kept, and begun anew since
	sent        bool // its message is not in the outbox any more: what joins it is said by an edit
}

// newLead notes the first request of a bundle.
func (t *telling) newLead(key string, v verdict, r *store.Request) *lead {
	first := &lead{verdict: v, category: r.Category, number: v.number, count: 1}
	if v.number == 0 {
		return first
	}
	if first.record = t.posted.Record(v.number); first.record == nil {
		first.record = t.newRecord(r)
	} else {
		first.kept = true
	}
	if strings.HasPrefix(key, "@") {
		first.record.Bundle = key
		t.touch(v.number, first.record)
		t.point("b:"+key, v.number)
	}
	return first
}

// unlisted is how a message says how many events it does not list, and how many of them are over.
var unlisted = regexp.MustCompile(`\n\+[\d ]+$`)

// resume finds the message of a bundle that goes on from an earlier call.
func (t *telling) resume(key string, r *store.Request) *lead {
	if !strings.HasPrefix(key, "@") {
		return nil
	}
	n, record := t.posted.Find("b:" + key)
	if record == nil {
		return nil
	}
	first := &lead{verdict: verdict{outcome: store.Admitted}, category: r.Category, number: n, count: eventCount(record), over: int(record.UntrackedResolved), record: record, kept: true}
	if t.isDelayed(n) {
		first.outcome = store.Delayed
	}
	first.sent = first.outcome != store.Delayed && !t.waits(n)
	if entry := t.entryOf(n); entry != nil && !first.sent {
		entry.Payload = unlisted.ReplaceAll(entry.Payload, nil)
	}
	t.leads[key] = first
	return first
}

func (t *telling) isDelayed(n int64) bool {
	return slices.ContainsFunc(t.box.Delayed, func(e Entry) bool { return e.Number == n })
}

// entryOf is what waits for Slack or for a slot under a number.
func (t *telling) entryOf(n int64) *Entry {
	for i := range t.box.Delayed {
		if t.box.Delayed[i].Number == n {
			return &t.box.Delayed[i]
		}
	}
	entry, _ := t.box.Find(n)
	return entry
}

// join folds a request into the message of its bundle, or lets it share its fate.
func (t *telling) join(first *lead, r *store.Request) verdict {
	v := first.verdict
	v.number, v.thread = 0, 0
	if first.number == 0 {
		if v.outcome == store.Merged {
			v.outcome = t.hold(r)
		}
		return v
	}
	v.outcome = store.Merged
	tell, entry := r.Event.Status != store.Resolved && r.Event.Fingerprint != "", t.entryOf(first.number)
	if first.kept && !first.fresh && t.posted.Record(first.number) == nil { // a resolve took its place
		first.fresh = true
		first.record = &store.PostedMessage{
			Category: first.category, At: t.now, Events: []store.PostedEvent{{Payload: string(entry.Payload)}}, Bundle: first.record.Bundle,
		}
	}
	if tell && toldOf(first.record, r.Event.Fingerprint) != toldNothing {
		mark(first.record, r.Event.Fingerprint, 0)
	} else {
		first.count++
		listed := add(first.record, r, first.count)
		switch {
		case !listed && r.Event.Status == store.Resolved:
			first.over++
		case listed && !first.sent:
			entry.Payload = append(append(slices.Clip(entry.Payload), '\n'), r.Payload()...)
		}
	}
	t.tellOf(first, r, tell)
	return v
}

// tellOf writes down what the message of a bundle tells of since a request joined it.
func (t *telling) tellOf(first *lead, r *store.Request, tell bool) {
	n, record := first.number, first.record
	kept := t.posted.Record(n) != nil
	if tell || kept || record.Events[0].Fingerprint != "" {
		t.touch(n, record)
		if record.Bundle != "" {
			t.point("b:"+record.Bundle, n)
		}
	}
	if tell && first.outcome != store.Delayed {
		t.follow(n, record, r.Event.Fingerprint)
	}
	if r.Event.Status == store.Resolved && r.Event.Fingerprint != "" {
		if resolved, told := t.posted.Find("f:" + r.Event.Fingerprint); told != nil {
			t.over(resolved, told, r.Event.Fingerprint, false)
		}
	}
	if first.sent {
		t.edit(n, record, t.now)
	}
}

// count says in the entry of a bundle how many events it does not list, and how many of them are over.
func (t *telling) count(first *lead) {
	entry := t.entryOf(first.number)
	if entry == nil || first.sent || first.record == nil || first.count <= len(first.record.Events) {
		return
	}
	entry.Payload = fmt.Appendf(slices.Clip(entry.Payload), "\n+%d", first.count-len(first.record.Events))
	if first.over > 0 {
		entry.Payload = fmt.Appendf(entry.Payload, " %d", first.over)
	}
}
