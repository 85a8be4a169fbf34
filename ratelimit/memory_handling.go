package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// maxBundled is how many events of a bundle a message tells of; the rest are counted.
const maxBundled = 10

// telling is a batch whose requests have a handling, step by step as in lua/admit.lua.
type telling struct {
	*batch
	h      *Handling
	box    *memstore.Outbox
	posted *memstore.Posted
	leads  map[string]*lead
}

// lead is the first request of a bundle, which the others join.
type lead struct {
	verdict
	category string
	number   int64 // of its entry; 0 = none
	count    int
}

// verdict is what was decided of a request.
type verdict struct {
	outcome         Outcome
	refused, shadow int64
	retryAt         int64
	number, thread  int64
	folded          bool // because of what was posted before: no level was asked
}

func newTelling(b *batch) *telling {
	if b.handling == nil {
		return nil
	}
	names := b.scope.keys()
	return &telling{
		batch: b, h: b.handling, leads: map[string]*lead{},
		box: memstore.Value[memstore.Outbox](b.tx, names.Outbox()), posted: memstore.Value[memstore.Posted](b.tx, names.Posted()),
	}
}

// decide decides one request that is no duplicate.
func (t *telling) decide(r *Request, way route) verdict {
	v := t.before(r)
	key := r.Event.Bundle + " " + r.Category
	first := t.leads[key]
	delaying := t.h.Overflow == OverflowDelay && t.mode != modePromote && len(t.box.Delayed) > 0
	switch {
	case v.folded && v.outcome == Delayed:
		v.outcome, v.number = t.delay(r)
	case v.folded:
	case first != nil:
		v = t.join(first, r)
	case delaying:
		v.outcome, v.number = t.delay(r)
	default:
		v = t.ask(r, way, v)
	}
	if r.Event.Bundle != "" && first == nil && !v.folded {
		t.leads[key] = &lead{verdict: v, category: r.Category, number: v.number, count: 1}
	}
	if v.outcome.Drops() {
		t.drop(r, v)
	}
	return v
}

// before is what becomes of a request because of what was posted before.
func (t *telling) before(r *Request) verdict {
	e, name := r.Event, "f:"+r.Event.Fingerprint
	if e.Fingerprint == "" || e.Status == "" {
		return verdict{}
	}
	n, record := t.posted.Find(name)
	if e.Status == Firing {
		if record == nil || !t.h.Repeats {
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
	case len(record.Events) == 1 && record.More == 0 && t.waits(n):
		entry, _ := t.box.Find(n)
		entry.At, entry.Payload, entry.Attempts, entry.Faults = t.now, r.payload(), 0, 0
		t.posted.Forget(n)
		memstore.Value[memstore.Counts](t.tx, t.scope.keys().Ledger()).Add("superseded", 1)
		return verdict{outcome: Admitted, folded: true}
	}
	marked := false
	for i := range record.Events {
		told := &record.Events[i]
		if t.h.Resolves == ResolvesEdit && told.Fingerprint == e.Fingerprint && told.Payload != "" {
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

func (r *Request) payload() []byte {
	if r.Enqueue == nil {
		return nil
	}
	return r.Enqueue.Payload
}

// ask asks the levels, and does what the handling says where they refuse.
func (t *telling) ask(r *Request, way route, v verdict) verdict {
	refused, shadow, retryAt, never := t.refusal(r, way)
	v.refused, v.shadow, v.retryAt = refused, shadow, retryAt
	switch {
	case refused == 0:
		v.outcome, v.number = Admitted, t.commit(r, way, shadow)
		t.shown(v, r)
	case never:
		v.outcome = Never
	case t.mode == modePromote:
		v.outcome = Delayed
		if t.overdue(r) {
			v.outcome = Full
		}
	case t.h.Overflow == OverflowDelay:
		v.outcome, v.number = t.delay(r)
	case t.h.Overflow == OverflowMerge && t.byCategory(way, refused):
		v.outcome = t.hold(r)
	default:
		v.outcome = Dropped
	}
	return v
}

// byCategory tells whether the category's level is among those that refused.
func (*telling) byCategory(way route, refused int64) bool {
	for i, place := range way.levels {
		if place == way.own && refused&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// restored is for what was taken in while the engine was away; where it is in Slack is not known of what was sent.
func (t *telling) restored(number int64, r *Request) {
	switch {
	case r.Enqueue != nil:
		t.shown(verdict{number: number}, r)
	case r.Event.Status != Resolved && r.Event.Fingerprint != "":
		t.touch(number, &lua.Record{
			Category: r.Category, At: t.now, Events: []lua.RecordEvent{{Fingerprint: r.Event.Fingerprint}}, Shown: true,
		})
		t.point("f:"+r.Event.Fingerprint, number)
	}
}

// shown is for a message that is to be told of later.
func (t *telling) shown(v verdict, r *Request) {
	names := t.scope.keys()
	if t.h.Digest {
		memstore.Value[memstore.Told](t.tx, names.Told()).Admit(r.Category, t.now, t.now-2*seriesFor.Microseconds())
	}
	if v.thread > 0 {
		delete(t.posted.Newest, "f:"+r.Event.Fingerprint)
		if entry, _ := t.box.Find(v.number); entry != nil && t.h.Resolves == ResolvesReply {
			entry.Thread = v.thread
		}
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

// join folds a request into the message of its bundle, or lets it share its fate.
func (t *telling) join(first *lead, r *Request) verdict {
	v := first.verdict
	v.number, v.thread = 0, 0
	if first.number == 0 {
		if v.outcome == Merged {
			v.outcome = t.hold(r)
		}
		return v
	}
	v.outcome = Merged
	first.count++
	entry, _ := t.box.Find(first.number)
	for i := range t.box.Delayed {
		if t.box.Delayed[i].Number == first.number {
			entry = &t.box.Delayed[i]
		}
	}
	if first.count <= maxBundled {
		entry.Payload = append(append(slices.Clip(entry.Payload), '\n'), r.payload()...)
	}
	if first.outcome != Delayed {
		t.recordJoined(first, r)
	}
	return v
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
	if told && len(record.Events) < maxBundled {
		record.Events = append(record.Events, lua.RecordEvent{Fingerprint: r.Event.Fingerprint, Payload: string(r.payload())})
	} else {
		record.More++
	}
	t.touch(first.number, record)
	if told {
		t.point("f:"+r.Event.Fingerprint, first.number)
	}
}

// finish writes down how many events a bundle has beyond those that it tells of, and forgets old messages.
func (t *telling) finish() {
	t.posted.Prune(t.now - t.h.postedFor().Microseconds())
	for _, first := range t.leads {
		if entry, _ := t.box.Find(first.number); entry != nil && first.count > maxBundled {
			entry.Payload = fmt.Appendf(slices.Clip(entry.Payload), "\n+%d", first.count-maxBundled)
		}
	}
}

// hold counts a request on the last message of its category.
func (t *telling) hold(r *Request) Outcome {
	n, record := t.posted.Find("c:" + r.Category)
	if record == nil {
		return Dropped
	}
	record.Held++
	record.HeldAt, record.HeldTitle = t.now, r.Event.Title
	t.edit(n, record, t.later(record))
	return Merged
}

// delay lets a request wait for a slot.
func (t *telling) delay(r *Request) (Outcome, int64) {
	if int64(len(t.box.Delayed)) >= t.h.MaxDelayed {
		return Full, 0
	}
	t.box.Seq++
	t.box.Delayed = append(t.box.Delayed, memstore.Entry{
		Number: t.box.Seq, At: t.now, Kind: string(KindMessage), Payload: r.payload(), Category: r.Category,
	})
	return Delayed, t.box.Seq
}

// waiting is the place of a request in the queue of what is delayed, or -1.
func (t *telling) waiting(r *Request) int {
	for i, entry := range t.box.Delayed {
		if entry.Number == r.Delayed && entry.Category == r.Category {
			return i
		}
	}
	return -1
}

func (t *telling) overdue(r *Request) bool {
	i := t.waiting(r)
	return i >= 0 && t.now-t.box.Delayed[i].At > t.h.MaxDelay.Microseconds()
}

func (t *telling) leave(r *Request) {
	if i := t.waiting(r); i >= 0 {
		t.box.Delayed = append(t.box.Delayed[:i], t.box.Delayed[i+1:]...)
	}
}

// drop records a drop, and notes it for the digest.
func (t *telling) drop(r *Request, v verdict) {
	names := t.scope.keys()
	level, used, limit, retry := v.outcome.String(), int64(-1), int64(-1), int64(0)
	for i := range r.Levels {
		if v.outcome == Dropped && v.refused&(1<<i) != 0 {
			level, limit, retry = r.Levels[i].Name, r.Levels[i].Windows[0].Limit, v.retryAt-t.now
			used = t.used(t.routeOfLevel(r.Levels[i].Key))[0]
			break
		}
	}
	if t.h.Drops > 0 {
		memstore.Value[memstore.Drops](t.tx, names.Drops()).Add(t.tx.Time, t.h.Drops, map[string]string{
			"event": string(r.payload()), "category": r.Category, "level": level, "used": strconv.FormatInt(used, 10),
			"limit": strconv.FormatInt(limit, 10), "retry_us": strconv.FormatInt(retry, 10),
		})
	}
	if t.h.Digest && v.outcome != Suppressed {
		noted := map[string]int64{}
		r.noteOf(noted, 1)
		memstore.Value[memstore.Digest](t.tx, names.Digest()).Note(t.now, noted)
	}
}

// routeOfLevel is the place of a level in the plan, from 0.
func (b *batch) routeOfLevel(key string) int {
	for i := range b.levels {
		if b.levels[i].Key == key {
			return i
		}
	}
	return 0
}

// countTold counts what became of a request with a handling.
func (t *telling) countTold(r *Request, o Outcome) {
	ledger := memstore.Value[memstore.Counts](t.tx, t.scope.keys().Ledger())
	if t.mode == modePromote {
		if o == Delayed || o == Duplicate {
			return
		}
		ledger.Add("delayed", -1)
		t.leave(r)
	} else {
		ledger.Add("received", 1)
	}
	if o.Drops() {
		o = Dropped
	}
	ledger.Add(o.String(), 1)
	if o == Admitted || o == Dropped {
		countInSeries(t.tx, t.scope, r.Category, o, 1)
	}
}

// Drops implements [Limiter].
func (m *Memory) Drops(_ context.Context, scope Scope, before string, most int) ([]Drop, error) {
	var page []Drop
	m.store.Do(func(tx *memstore.Tx) {
		all := memstore.LookOrNew[memstore.Drops](tx, scope.keys().Drops()).All
		_, rising, _ := strings.Cut(before, "-")
		oldest, err := strconv.ParseInt(rising, 10, 64)
		for i := len(all) - 1; i >= 0 && len(page) < most; i-- {
			if before != "" && (err != nil || all[i].ID >= oldest) {
				continue
			}
			drop := dropOf(all[i].Fields)
			drop.ID, drop.At = fmt.Sprintf("%d-%d", all[i].At.UnixMilli(), all[i].ID), all[i].At
			page = append(page, drop)
		}
	})
	return page, nil
}

// keepDrops takes what a fold tells the record.
func keepDrops(tx *memstore.Tx, scope Scope, d drops, at time.Time) {
	for _, drop := range d.kept {
		memstore.Value[memstore.Drops](tx, scope.keys().Drops()).Add(at, max(1, d.keep), map[string]string{
			"event": string(drop.Payload), "category": drop.Category, "level": drop.Level, "used": strconv.FormatInt(drop.Used, 10),
			"limit": strconv.FormatInt(drop.Limit, 10), "retry_us": strconv.FormatInt(drop.Retry.Microseconds(), 10),
		})
	}
	if len(d.noted) > 0 {
		memstore.Value[memstore.Digest](tx, scope.keys().Digest()).Note(tx.Now, d.noted)
	}
}
