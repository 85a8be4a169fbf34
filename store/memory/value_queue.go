package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"slackrelay/store"
)

// queue is the outbox of a channel, with what waits for a slot.
type queue struct {
	seq      int64             // the number of the newest entry ever
	messages []entry           // oldest first
	extras   []entry           // spend no slot; by when they are due
	delayed  []entry           // wait for a slot, oldest first
	results  map[int64]settled // of messages that left, by number; see Options.KeepResults
}

// Queued reports whether an entry is in the outbox of a channel, under its number and the time of its admission.
func (d *Data) Queued(channel store.Channel, e store.Entry) (queued bool) {
	d.Do(func(tx *Tx) {
		found := kept[queue](tx, channel.Keys().Outbox()).find(e.Number)
		queued = found != nil && found.at == e.AdmittedAt
	})
	return queued
}

// entry is one thing that waits. Times are microseconds of store time.
type entry struct {
	number   int64
	at       int64 // when it was admitted
	kind     string
	payload  []byte
	attempts int64
	faults   int64
	isExtra  bool
	due      int64  // of extras
	category string // of delayed entries
	thread   int64  // the number of the message that it replies to; 0 = none
	sent     int64  // the first attempt that may have been posted; 0 = none was
	tried    int64  // the last such attempt
	looked   int64  // how often it was looked up since
	resend   bool   // it was not found, and is to be sent once more
	name     string // what it was posted as; "" = its own number and admission
	claim    entryClaim
}

// forgetAttempts notes that no attempt was posted.
func (e *entry) forgetAttempts() {
	e.sent = 0
	e.tried = 0
	e.looked = 0
	e.claim = entryClaim{}
}

// isUnsent reports whether nobody began to send the entry. It works on nil, which was sent or discarded.
func (e *entry) isUnsent() bool { return e != nil && e.sent == 0 }

// entryClaim is the claim that began the last attempt, so that a claim without a reply can be undone.
type entryClaim struct {
	call  int64 // its number
	kind  claimKind
	owner string
}

// claimKind is what a claim marked an entry with. The values are those of the scripts.
type claimKind string

const (
	claimNone   claimKind = ""
	claimFirst  claimKind = "first" // it was never tried before
	claimResend claimKind = "again" // it was to be sent once more
)

// claimKind is what a claim of the entry would mark it with.
func (e *entry) claimKind() claimKind {
	switch {
	case e.sent == 0:
		return claimFirst
	case e.resend:
		return claimResend
	default:
		return claimNone
	}
}

// head returns the oldest message, or nil.
func (q *queue) head() *entry {
	if len(q.messages) == 0 {
		return nil
	}
	return &q.messages[0]
}

// dueExtra returns the extra that has been due for longest, or nil.
func (q *queue) dueExtra(now int64) *entry {
	if len(q.extras) == 0 || q.extras[0].due > now {
		return nil
	}
	return &q.extras[0]
}

// nextExtra returns when the next extra is due; 0 = there is none.
func (q *queue) nextExtra() int64 {
	if len(q.extras) == 0 {
		return 0
	}
	return q.extras[0].due
}

// find returns the entry of a number, or nil. Delayed entries are not found.
func (q *queue) find(number int64) *entry {
	if found := findIn(q.messages, number); found != nil {
		return found
	}
	return findIn(q.extras, number)
}

func (q *queue) findDelayed(number int64) *entry { return findIn(q.delayed, number) }

func findIn(entries []entry, number int64) *entry {
	for i := range entries {
		if entries[i].number == number {
			return &entries[i]
		}
	}
	return nil
}

// remove deletes the entry of a number.
func (q *queue) remove(number int64) {
	matches := func(e entry) bool { return e.number == number }
	q.messages = slices.DeleteFunc(q.messages, matches)
	q.extras = slices.DeleteFunc(q.extras, matches)
}

// addExtra adds an extra that is due at a time, and returns its number.
func (q *queue) addExtra(now, due int64, kind string, payload []byte) int64 {
	q.seq++
	q.extras = append(q.extras, entry{number: q.seq, at: now, isExtra: true, due: due, kind: kind, payload: payload})
	q.sortExtras()
	return q.seq
}

// postpone changes when an extra is due.
func (q *queue) postpone(extra *entry, due int64) {
	extra.due = due
	q.sortExtras()
}

// sortExtras orders extras of the same microsecond as Redis orders members of the same score: as text.
func (q *queue) sortExtras() {
	slices.SortFunc(q.extras, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), strings.Compare(strconv.FormatInt(a.number, 10), strconv.FormatInt(b.number, 10)))
	})
}

// settled is the result of a message that left the outbox. Its age is set when the result is collected.
type settled struct {
	at     int64 // when it was admitted
	result store.OutageResult
}

// maxResults bounds how many results are kept; later messages count as delivered.
const maxResults = 50_000

func (q *queue) keepResult(e *entry, result store.OutageResult) {
	if q.results == nil {
		q.results = map[int64]settled{}
	}
	if len(q.results) < maxResults {
		q.results[e.number] = settled{at: e.at, result: result}
	}
}
