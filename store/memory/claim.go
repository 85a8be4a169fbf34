package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Claim implements [Outbox].
func (m *Store) Claim(ctx context.Context, channel store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	if err := terms.Check(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before, this := time.Now(), m.calls.Begin(channel)
	var claim store.Claim
	m.data.Do(func(tx *Tx) {
		c := claiming{tx: tx, opts: m.opts, keys: channel.Keys(), terms: terms, look: look, call: this}
		claim = c.claim()
	})
	if err := ctx.Err(); err != nil { // its caller is gone, as that of a call over a network may be
		m.calls.Lose(channel, this.Number)
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	claim.Wait = m.data.Wall(claim.Wait)
	if claim.State == store.Claimed || claim.State == store.Stale {
		claim.Entry.Backlog = terms.Backlog
		claim.Until = before.Add(m.data.Wall(m.opts.Lease))
	}
	return claim, nil
}

// claiming is one claim, step by step as in lua/claim.lua.
type claiming struct {
	tx    *Tx
	opts  Options
	keys  lua.Keys
	terms store.Terms
	look  bool
	call  store.ClaimCall

	every   int64 // the pace, microseconds
	emptyAt int64 // when its bucket is empty
	edits   int64 // until when nothing is edited
}

// candidate is an entry with what it may do now, and how long it may not.
type candidate struct {
	entry *Entry
	state store.ClaimState
	wait  int64
	edit  bool
	doubt bool
	what  string // as a claim of it is remembered
}

func (c *claiming) claim() store.Claim {
	if c.digestDue() {
		return store.Claim{State: store.DigestDue}
	}
	held := Value[lease](c.tx, c.keys.Lease())
	box := Look[Queue](c.tx, c.keys.Outbox())
	head, due := box.Head(), box.Due(c.tx.Now)
	switch {
	case head == nil && due == nil:
		held.giveUp(c.opts.Owner)
		return store.Claim{State: store.Empty}
	case held.stopped:
		return store.Claim{State: store.Leased, Wait: stoppedFor}
	case held.owner == c.opts.Owner && held.call > c.call.Number: // it was on its way for long; nobody waits for its answer
		return store.Claim{State: store.Leased, Wait: store.Microseconds(max(0, held.until-c.tx.Now))}
	case held.owner != "" && held.owner != c.opts.Owner && held.until > c.tx.Now:
		return store.Claim{State: store.Leased, Wait: store.Microseconds(held.until - c.tx.Now)}
	}
	if pause := Look[Pause](c.tx, c.keys.Pause()); pause != nil {
		c.edits = pause.Edits
		if pause.Until > c.tx.Now {
			held.giveUp(c.opts.Owner)
			return store.Claim{State: store.Paused, Wait: store.Microseconds(pause.Until - c.tx.Now)}
		}
	}
	return c.take(held, head, due)
}

func (c *claiming) take(held *lease, head, due *Entry) store.Claim {
	bucket := Value[pacing](c.tx, c.keys.Pace())
	c.every, c.emptyAt = c.terms.Pace.Every.Microseconds()*c.opts.paceDivisor(), max(c.tx.Now, bucket.emptyAt)
	chosen, blocked := c.choose(head, due)
	if chosen == nil {
		if blocked.state == store.AwaitingLookup {
			Value[Pause](c.tx, c.keys.Pause()).Settling = c.tx.Now + blocked.wait
		}
		return store.Claim{State: blocked.state, Wait: store.Microseconds(blocked.wait)}
	}
	if pause := Look[Pause](c.tx, c.keys.Pause()); pause != nil {
		pause.Settling = 0
	}
	entry := chosen.entry
	if chosen.state == store.Claimed && !chosen.doubt {
		switch {
		case c.look && chosen.edit:
			return store.Claim{State: store.EditReady}
		case c.look:
			return store.Claim{State: store.PostReady}
		case !chosen.edit:
			bucket.emptyAt = c.emptyAt + c.every
		}
		if entry.Sent == 0 {
			entry.Sent = c.tx.Now
		}
		entry.Tried, entry.Again, entry.Looked = c.tx.Now, false, 0
	}
	entry.Claim = Claim{}
	if chosen.state == store.Claimed && chosen.what != "" {
		entry.Claim = Claim{Call: c.call.Number, What: chosen.what, Owner: c.opts.Owner}
	}
	held.owner, held.until, held.call, held.inHand = c.opts.Owner, c.tx.Now+c.opts.Lease.Microseconds(), c.call.Number, entry.Number
	entry.Attempts++
	claimed := store.Entry{
		Number: entry.Number, Kind: entry.Kind, Payload: entry.Payload, Attempts: entry.Attempts - 1, Faults: entry.Faults,
		Age: store.Microseconds(c.tx.Now - entry.At), AdmittedAt: entry.At, Thread: entry.Thread, Name: entry.Name,
	}
	if chosen.doubt {
		claimed.UnknownSince, claimed.Lookups = time.UnixMicro(entry.Sent), entry.Looked
	}
	return store.Claim{State: chosen.state, Entry: claimed}
}

// choose finds what is next among the oldest message and the extra that has been due for longest; else what is
// blocked for the shortest time.
func (c *claiming) choose(head, due *Entry) (chosen, blocked *candidate) {
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
		case one.state == store.Claimed || one.state == store.Stale:
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
func (c *claiming) revoke(e *Entry) {
	if e.Claim.What == "" || e.Claim.Owner != c.opts.Owner || !c.call.Lost(e.Claim.Call) {
		return
	}
	if e.Claim.What == claimFirst {
		e.Sent, e.Tried, e.Looked = 0, 0, 0
	} else {
		e.Again = true
	}
	e.Claim = Claim{}
}

func (c *claiming) candidate(e *Entry, message bool) *candidate {
	c.revoke(e)
	one := &candidate{entry: e, state: store.Claimed, edit: strings.HasSuffix(e.Kind, store.KindEdit)}
	one.doubt = e.Sent > 0 && !e.Again && !one.edit
	switch {
	case e.Sent == 0:
		one.what = claimFirst
	case e.Again:
		one.what = claimAgain
	}
	blockedFor := func(wait int64, state store.ClaimState) {
		if one.wait = wait; wait > 0 {
			one.state = state
		}
	}
	switch {
	case one.edit:
		blockedFor(c.edits-c.tx.Now, store.Paused)
	case one.doubt:
		if settle := c.terms.LookupDelay.Microseconds(); settle > 0 {
			blockedFor(e.Tried+settle*(1+2*e.Looked)-c.tx.Now, store.AwaitingLookup)
		}
	case message && c.terms.TTL > 0 && c.tx.Now-e.At > c.terms.TTL.Microseconds():
		one.state = store.Stale
	default:
		blockedFor(c.emptyAt-(c.terms.Pace.Burst-1)*c.every-c.tx.Now, store.Paced)
	}
	return one
}
