package outbox

import (
	"strings"
	"time"

	"slackrelay/lua"
	"slackrelay/lua/memstore"
)

// claiming is one claim, step by step as in lua/claim.lua.
type claiming struct {
	tx    *memstore.Tx
	opts  Options
	keys  lua.Keys
	terms Terms
	look  bool
	call  call

	every   int64 // the pace, microseconds
	emptyAt int64 // when its bucket is empty
	edits   int64 // until when nothing is edited
}

// candidate is an entry with what it may do now, and how long it may not.
type candidate struct {
	entry *memstore.Entry
	state State
	wait  int64
	edit  bool
	doubt bool
	what  string // as a claim of it is remembered
}

func (c *claiming) claim() Claim {
	if c.digestDue() {
		return Claim{State: DigestDue}
	}
	held := memstore.Value[lease](c.tx, c.keys.Lease())
	box := memstore.Look[memstore.Outbox](c.tx, c.keys.Outbox())
	head, due := box.Head(), box.Due(c.tx.Now)
	switch {
	case head == nil && due == nil:
		held.giveUp(c.opts.Owner)
		return Claim{State: Empty}
	case held.stopped:
		return Claim{State: Held, Wait: stoppedFor}
	case held.owner == c.opts.Owner && held.call > c.call.number: // it was on its way for long; nobody waits for its answer
		return Claim{State: Held, Wait: micros(max(0, held.until-c.tx.Now))}
	case held.owner != "" && held.owner != c.opts.Owner && held.until > c.tx.Now:
		return Claim{State: Held, Wait: micros(held.until - c.tx.Now)}
	}
	if pause := memstore.Look[memstore.Pause](c.tx, c.keys.Pause()); pause != nil {
		c.edits = pause.Edits
		if pause.Until > c.tx.Now {
			held.giveUp(c.opts.Owner)
			return Claim{State: Paused, Wait: micros(pause.Until - c.tx.Now)}
		}
	}
	return c.take(held, head, due)
}

func (c *claiming) take(held *lease, head, due *memstore.Entry) Claim {
	bucket := memstore.Value[pacing](c.tx, c.keys.Pace())
	c.every, c.emptyAt = c.terms.Pace.Every.Microseconds()*c.opts.paceFactor(), max(c.tx.Now, bucket.emptyAt)
	chosen, blocked := c.choose(head, due)
	if chosen == nil {
		if blocked.state == Settling {
			memstore.Value[memstore.Pause](c.tx, c.keys.Pause()).Settling = c.tx.Now + blocked.wait
		}
		return Claim{State: blocked.state, Wait: micros(blocked.wait)}
	}
	if pause := memstore.Look[memstore.Pause](c.tx, c.keys.Pause()); pause != nil {
		pause.Settling = 0
	}
	entry := chosen.entry
	if chosen.state == Claimed && !chosen.doubt {
		switch {
		case c.look && chosen.edit:
			return Claim{State: EditReady}
		case c.look:
			return Claim{State: PostReady}
		case !chosen.edit:
			bucket.emptyAt = c.emptyAt + c.every
		}
		if entry.Sent == 0 {
			entry.Sent = c.tx.Now
		}
		entry.Tried, entry.Again, entry.Looked = c.tx.Now, false, 0
	}
	entry.Claim = memstore.Claim{}
	if chosen.state == Claimed && chosen.what != "" {
		entry.Claim = memstore.Claim{Call: c.call.number, What: chosen.what, Owner: c.opts.Owner}
	}
	held.owner, held.until, held.call, held.inHand = c.opts.Owner, c.tx.Now+c.opts.Lease.Microseconds(), c.call.number, entry.Number
	entry.Attempts++
	claimed := Entry{
		Number: entry.Number, Kind: entry.Kind, Payload: entry.Payload, Attempts: entry.Attempts - 1, Faults: entry.Faults,
		Age: micros(c.tx.Now - entry.At), At: entry.At, Thread: entry.Thread, Name: entry.Name,
	}
	if chosen.doubt {
		claimed.Doubt, claimed.Looked = time.UnixMicro(entry.Sent), entry.Looked
	}
	return Claim{State: chosen.state, Entry: claimed}
}

// choose finds what is next among the oldest message and the extra that has been due for longest; else what is
// blocked for the shortest time.
func (c *claiming) choose(head, due *memstore.Entry) (chosen, blocked *candidate) {
	var order []*candidate
	if head != nil {
		order = append(order, c.candidate(head, true))
	}
	if due != nil {
		order = append(order, c.candidate(due, false))
	}
	if len(order) == 2 && due.Due < head.At {
		order[0], order[1] = order[1], order[0]
	}
	for _, one := range order {
		switch {
		case one.state == Claimed || one.state == Stale:
			if chosen == nil {
				chosen = one
			}
		case blocked == nil || one.wait < blocked.wait:
			blocked = one
		}
	}
	return chosen, blocked
}

// What a claim took, as lua/claim.lua says it.
const (
	claimFirst = "first"
	claimAgain = "again"
)

// revoke takes back what a claim noted of which its owner got no answer: it never sent what it took.
func (c *claiming) revoke(e *memstore.Entry) {
	if e.Claim.What == "" || e.Claim.Owner != c.opts.Owner || !c.call.lost(e.Claim.Call) {
		return
	}
	if e.Claim.What == claimFirst {
		e.Sent, e.Tried, e.Looked = 0, 0, 0
	} else {
		e.Again = true
	}
	e.Claim = memstore.Claim{}
}

func (c *claiming) candidate(e *memstore.Entry, message bool) *candidate {
	c.revoke(e)
	one := &candidate{entry: e, state: Claimed, edit: strings.HasSuffix(e.Kind, KindEdit)}
	one.doubt = e.Sent > 0 && !e.Again && !one.edit
	switch {
	case e.Sent == 0:
		one.what = claimFirst
	case e.Again:
		one.what = claimAgain
	}
	blockedFor := func(wait int64, state State) {
		if one.wait = wait; wait > 0 {
			one.state = state
		}
	}
	switch {
	case one.edit:
		blockedFor(c.edits-c.tx.Now, Paused)
	case one.doubt:
		if settle := c.terms.Settle.Microseconds(); settle > 0 {
			blockedFor(e.Tried+settle*(1+2*e.Looked)-c.tx.Now, Settling)
		}
	case message && c.terms.TTL > 0 && c.tx.Now-e.At > c.terms.TTL.Microseconds():
		one.state = Stale
	default:
		blockedFor(c.emptyAt-(c.terms.Pace.Burst-1)*c.every-c.tx.Now, Paced)
	}
	return one
}
