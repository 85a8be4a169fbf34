package memstore

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/lua"
)

// The values that the limiter and the outbox both touch.

// Counts are the totals of a ledger, or of an hour, by name. See lua/admit.lua for the names.
type Counts struct{ counts map[string]int64 }

// Add raises one count.
func (c *Counts) Add(name string, by int64) {
	if c.counts == nil {
		c.counts = map[string]int64{}
	}
	c.counts[name] += by
}

// Has tells whether a count was ever touched.
func (c *Counts) Has(name string) bool {
	_, ok := c.counts[name]
	return ok
}

// Len is the number of names.
func (c *Counts) Len() int { return len(c.counts) }

// All returns a copy of the counts. It works on nil.
func (c *Counts) All() map[string]int64 {
	all := map[string]int64{}
	if c == nil {
		return all
	}
	maps.Copy(all, c.counts)
	return all
}

// Outbox is what waits for Slack in one channel.
type Outbox struct {
	Seq     int64   // the number of the newest entry ever
	Entries []Entry // messages, oldest first
	Extras  []Entry // what spends no slot, by when it is due
	Delayed []Entry // what waits for a slot, oldest first
}

// Entry is one thing that waits. Times are microseconds of store time.
type Entry struct {
	Number   int64
	At       int64 // when it was admitted
	Kind     string
	Payload  []byte
	Attempts int64
	Faults   int64
	Due      int64  // of extras
	Category string // of what is delayed
	Thread   int64  // the number of the message that it answers
	// Sent is when it was first tried, while it is not known that it did not arrive; Tried the last time; Looked
	// how often it was looked up since; Again says that it is to be sent once more.
	Sent, Tried, Looked int64
	Again               bool
}

// Head is the oldest message, or nil. It works on nil.
func (o *Outbox) Head() *Entry {
	if o == nil || len(o.Entries) == 0 {
		return nil
	}
	return &o.Entries[0]
}

// Due is the extra that has been due for longest, or nil. It works on nil.
func (o *Outbox) Due(now int64) *Entry {
	if o == nil || len(o.Extras) == 0 || o.Extras[0].Due > now {
		return nil
	}
	return &o.Extras[0]
}

// Find is the entry of that number, and whether it is an extra; nil = there is none. It works on nil.
func (o *Outbox) Find(number int64) (entry *Entry, extra bool) {
	if o == nil {
		return nil, false
	}
	for i := range o.Entries {
		if o.Entries[i].Number == number {
			return &o.Entries[i], false
		}
	}
	for i := range o.Extras {
		if o.Extras[i].Number == number {
			return &o.Extras[i], true
		}
	}
	return nil, false
}

// Remove takes the entry of that number out. It works on nil.
func (o *Outbox) Remove(number int64) {
	if o == nil {
		return
	}
	is := func(e Entry) bool { return e.Number == number }
	o.Entries, o.Extras = slices.DeleteFunc(o.Entries, is), slices.DeleteFunc(o.Extras, is)
}

// Put puts an extra in, due at a time, and returns its number.
func (o *Outbox) Put(now, due int64, kind string, payload []byte) int64 {
	o.Seq++
	o.Extras = append(o.Extras, Entry{Number: o.Seq, At: now, Due: due, Kind: kind, Payload: payload})
	o.sort()
	return o.Seq
}

// Postpone makes an extra due later.
func (o *Outbox) Postpone(number, due int64) {
	if entry, extra := o.Find(number); extra {
		entry.Due = due
		o.sort()
	}
}

func (o *Outbox) sort() {
	slices.SortFunc(o.Extras, func(a, b Entry) int { // of the same microsecond, as Redis sorts members
		return cmp.Or(cmp.Compare(a.Due, b.Due), strings.Compare(strconv.FormatInt(a.Number, 10), strconv.FormatInt(b.Number, 10)))
	})
}

// Pause says until when a channel sends nothing, in microseconds of store time, and why; and until when it edits
// nothing.
type Pause struct {
	Until  int64
	Reason string
	Edits  int64
}

// Backlog are the numbers of the entries that a level admitted and that wait, oldest first.
type Backlog struct{ Numbers []int64 }

// Leave takes an entry that was settled out. It works on nil.
func (b *Backlog) Leave(number int64) {
	if b != nil {
		b.Numbers = slices.DeleteFunc(b.Numbers, func(n int64) bool { return n == number })
	}
}

// Posted are the records of what was admitted, by number, and the numbers that fingerprints ("f:...") and
// categories ("c:...") stand for.
type Posted struct {
	Records map[int64]*lua.Record
	Newest  map[string]int64
	touched map[int64]int64
}

// Touch keeps a record.
func (p *Posted) Touch(number int64, record *lua.Record, now int64) {
	if p.Records == nil {
		p.Records, p.Newest, p.touched = map[int64]*lua.Record{}, map[string]int64{}, map[int64]int64{}
	}
	p.Records[number], p.touched[number] = record, now
}

// Prune forgets what was not touched since a time.
func (p *Posted) Prune(until int64) {
	for old, at := range p.touched {
		if at <= until {
			p.Forget(old)
		}
	}
}

// Forget forgets a record, and what stands for it.
func (p *Posted) Forget(number int64) {
	delete(p.Records, number)
	delete(p.touched, number)
	maps.DeleteFunc(p.Newest, func(_ string, n int64) bool { return n == number })
}

// Find is the record that a fingerprint or a category stands for, and its number; nil where there is none.
func (p *Posted) Find(name string) (int64, *lua.Record) {
	number := p.Newest[name]
	return number, p.Records[number]
}

// Record is the record of a number, or nil. It works on nil.
func (p *Posted) Record(number int64) *lua.Record {
	if p == nil {
		return nil
	}
	return p.Records[number]
}

// Digest is what the next digest will say, and the one that is open; see lua/digest.lua.
type Digest struct {
	Since, Last, Noted int64
	Counts             map[string]int64
	Open               int64 // since when one is open; 0 = none is
	ID                 string
	Post, Edit, Moved  int64
	From               int64
	Totals             map[string]int64
}

// Bounds of what a digest notes: titles must not crowd out counts.
const (
	maxNoted  = 1000
	maxTitled = 300
)

// Note notes what was dropped or expired, for the next digest.
func (d *Digest) Note(now int64, counts map[string]int64) {
	if d.Counts == nil {
		d.Counts = map[string]int64{}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		title := name[:2] == "t:"
		if !title {
			d.Noted += counts[name]
			d.Last = now
			if d.Since == 0 {
				d.Since = now
			}
		}
		_, known := d.Counts[name]
		switch {
		case known || len(d.Counts) < maxTitled || !title && len(d.Counts) < maxNoted:
			d.Counts[name] += counts[name]
		case !title:
			d.Counts[name[:2]+"other:warning"] += counts[name]
		}
	}
}

// Told is when each category was last admitted.
type Told struct{ at map[string]int64 }

// Admit notes an admission, and forgets those before a time.
func (h *Told) Admit(category string, now, forget int64) {
	if h.at == nil {
		h.at = map[string]int64{}
	}
	h.at[category] = now
	maps.DeleteFunc(h.at, func(_ string, at int64) bool { return at <= forget })
}

// When is the last admission; 0 = none is known. It works on nil.
func (h *Told) When(category string) int64 {
	if h == nil {
		return 0
	}
	return h.at[category]
}

// Drop is one record of what was dropped; see lua/admit.lua.
type Drop struct {
	ID     int64 // rising
	At     time.Time
	Fields map[string]string
}

// Drops are the newest records of what was dropped, oldest first.
type Drops struct {
	next int64
	All  []Drop
}

// Add keeps a record, and at most so many.
func (d *Drops) Add(at time.Time, keep int64, fields map[string]string) {
	d.next++
	d.All = append(d.All, Drop{ID: d.next, At: at, Fields: fields})
	if over := len(d.All) - int(keep); over > 0 {
		d.All = slices.Delete(d.All, 0, over)
	}
}
