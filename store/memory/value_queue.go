package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"slackrelay/store"
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
type Queue struct {
	Seq     int64           // the number of the newest entry ever
	Entries []Entry         // messages, oldest first
	Extras  []Entry         // what spends no slot, by when it is due
	Delayed []Entry         // what waits for a slot, oldest first
	Ended   map[int64]Ended // messages that left, where that is asked for
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
	Name                string // what it was posted as; "" = its own number and admission
	Claim               Claim  // the claim that the last attempt is of alone
}

// Claim is a claim of a sender, by its number, and what it took: "first", an entry that was never tried before, or
// "again", one that was to be sent once more; "" = none.
type Claim struct {
	Call  int64
	What  string
	Owner string
}

// Head is the oldest message, or nil. It works on nil.
func (o *Queue) Head() *Entry {
	if o == nil || len(o.Entries) == 0 {
		return nil
	}
	return &o.Entries[0]
}

// Due is the extra that has been due for longest, or nil. It works on nil.
func (o *Queue) Due(now int64) *Entry {
	if o == nil || len(o.Extras) == 0 || o.Extras[0].Due > now {
		return nil
	}
	return &o.Extras[0]
}

// Find is the entry of that number, and whether it is an extra; nil = there is none. It works on nil.
func (o *Queue) Find(number int64) (entry *Entry, extra bool) {
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
func (o *Queue) Remove(number int64) {
	if o == nil {
		return
	}
	is := func(e Entry) bool { return e.Number == number }
	o.Entries, o.Extras = slices.DeleteFunc(o.Entries, is), slices.DeleteFunc(o.Extras, is)
}

// Put puts an extra in, due at a time, and returns its number.
func (o *Queue) Put(now, due int64, kind string, payload []byte) int64 {
	o.Seq++
	o.Extras = append(o.Extras, Entry{Number: o.Seq, At: now, Due: due, Kind: kind, Payload: payload})
	o.sort()
	return o.Seq
}

// Postpone makes an extra due later.
func (o *Queue) Postpone(number, due int64) {
	if entry, extra := o.Find(number); extra {
		entry.Due = due
		o.sort()
	}
}

func (o *Queue) sort() {
	slices.SortFunc(o.Extras, func(a, b Entry) int { // of the same microsecond, as Redis sorts members
		return cmp.Or(cmp.Compare(a.Due, b.Due), strings.Compare(strconv.FormatInt(a.Number, 10), strconv.FormatInt(b.Number, 10)))
	})
}

// Ended is what became of a message, its age not reckoned yet.
type Ended struct {
	At   int64 // when it was admitted
	Past store.OutageResult
}

// maxEnded bounds how many ends are remembered; what ends after that counts as delivered.
const maxEnded = 50_000

// End remembers what became of a message.
func (o *Queue) End(e *Entry, past store.OutageResult) {
	if o.Ended == nil {
		o.Ended = map[int64]Ended{}
	}
	if len(o.Ended) < maxEnded {
		o.Ended[e.Number] = Ended{At: e.At, Past: past}
	}
}

// DeadLetters are the entries that were buried, oldest first.
type DeadLetters struct {
	next int64
	All  []store.DeadLetter
}

// Bury keeps a dead letter: the newest so many, and of these at most MaxDeadBytes.
func (d *DeadLetters) Bury(letter store.DeadLetter, keep int64) {
	d.next++
	letter.ID = fmt.Sprintf("%d-%d", letter.At.UnixMilli(), d.next)
	d.All = append(d.All, letter)
	kept, bytes := len(d.All), 0
	for ; kept > 0 && len(d.All)-kept < int(keep); kept-- {
		if bytes += len(d.All[kept-1].Payload) + RecordBytes; bytes > MaxDeadBytes {
			break
		}
	}
	d.All = slices.Delete(d.All, 0, kept)
}

// Pause says until when a channel sends nothing, in microseconds of store time, and why; and until when it edits
// nothing, and until when it waits for a look at what may have been posted.
type Pause struct {
	Until    int64
	Reason   string
	Edits    int64
	Settling int64
}
