package memstore

import (
	"maps"
	"slices"
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

// Outbox is what waits for Slack in one channel, oldest first.
type Outbox struct {
	Seq     int64 // the number of the newest entry ever
	Entries []Entry
}

// Entry is one thing that waits. At is when it was admitted, in microseconds of store time.
type Entry struct {
	Number   int64
	At       int64
	Kind     string
	Payload  []byte
	Attempts int64
	Faults   int64
}

// Head is the oldest entry, or nil. It works on nil.
func (o *Outbox) Head() *Entry {
	if o == nil || len(o.Entries) == 0 {
		return nil
	}
	return &o.Entries[0]
}

// Find is the entry of that number, or nil. It works on nil.
func (o *Outbox) Find(number int64) *Entry {
	if o == nil {
		return nil
	}
	for i := range o.Entries {
		if o.Entries[i].Number == number {
			return &o.Entries[i]
		}
	}
	return nil
}

// Remove takes the entry of that number out and tells whether it was there. It works on nil.
func (o *Outbox) Remove(number int64) (Entry, bool) {
	if o == nil {
		return Entry{}, false
	}
	for i, e := range o.Entries {
		if e.Number == number {
			o.Entries = append(o.Entries[:i], o.Entries[i+1:]...)
			return e, true
		}
	}
	return Entry{}, false
}

// Pause says until when a channel sends nothing, in microseconds of store time, and why.
type Pause struct {
	Until  int64
	Reason string
}

// Backlog are the numbers of the entries that a level admitted and that wait, oldest first.
type Backlog struct{ Numbers []int64 }

// Leave takes an entry that was settled out. It works on nil.
func (b *Backlog) Leave(number int64) {
	if b != nil {
		b.Numbers = slices.DeleteFunc(b.Numbers, func(n int64) bool { return n == number })
	}
}
