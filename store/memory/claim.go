package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

// Claim implements [store.Queue]. It is the twin of lua/claim.lua.
func (s *Store) Claim(ctx context.Context, channel store.Channel, terms store.Terms, look bool) (store.Claim, error) {
	if err := terms.Check(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	before := time.Now()
	call := s.calls.Begin(channel)
	var claim store.Claim
	s.do(channel, func(tx channelTx) { claim = s.claimant(tx, terms, look, call).claim() })
	if err := ctx.Err(); err != nil { // the caller is gone, as that of a call over a network may be
		s.calls.Lose(channel, call.Number)
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	return s.leased(claim, terms, before), nil
}

// leased completes a claim that was asked for at a time.
func (s *Store) leased(claim store.Claim, terms store.Terms, asked time.Time) store.Claim {
	claim.Wait = s.data.wall(claim.Wait)
	if claim.State.HasEntry() {
		claim.Entry.Backlog = terms.Backlog
		claim.Until = asked.Add(s.data.wall(s.opts.Lease))
	}
	return claim
}

// claimant is one claim of a sender.
type claimant struct {
	tx    channelTx
	opts  Options
	terms store.Terms
	look  bool
	call  store.ClaimCall

	lease *lease
	pause *pause
	pace  *bucket

	nextDigest int64 // when the next digest may be due; 0 = nothing is counted for one
	nextExtra  int64 // when the next extra is due; 0 = none is, or one is due now
}

func (s *Store) claimant(tx channelTx, terms store.Terms, look bool, call store.ClaimCall) *claimant {
	return &claimant{
		tx: tx, opts: s.opts, terms: terms, look: look, call: call,
		lease: tx.lease(), pause: tx.pause(), pace: kept[bucket](tx.Tx, tx.keys.Pace()),
	}
}

// paceEvery is the time between two messages, in microseconds.
func (c *claimant) paceEvery() int64 { return c.terms.Pace.Every.Microseconds() * c.opts.paceDivisor() }

func blockedAs(state store.ClaimState, wait int64) store.Claim {
	return store.Claim{State: state, Wait: store.Microseconds(wait)}
}

func (c *claimant) claim() store.Claim {
	c.nextDigest = c.lookForDigest()
	if c.nextDigest > 0 && c.nextDigest <= c.tx.now {
		return c.lookSoon(store.DigestDue)
	}
	outbox := c.tx.outbox()
	head := outbox.head()
	extra := outbox.dueExtra(c.tx.now)
	if extra == nil {
		c.nextExtra = outbox.nextExtra()
	}
	if head == nil && extra == nil {
		c.lookNext(c.nextExtra)
		c.lease.release(c.opts.Owner)
		return blockedAs(store.Empty, 0)
	}
	if c.lease.stopped {
		return c.lookAfter(store.Leased, stoppedWait.Microseconds())
	}
	isOvertaken := c.lease.owner == c.opts.Owner && c.lease.call > c.call.Number // by a later claim: nobody waits for this reply
	if isOvertaken || c.lease.isHeldByOther(c.opts.Owner, c.tx.now) {
		return c.lookAfter(store.Leased, max(0, c.lease.until-c.tx.now))
	}
	if c.pause.until > c.tx.now {
		c.lease.release(c.opts.Owner)
		return c.lookAfter(store.Paused, c.pause.until-c.tx.now)
	}
	return c.claimNext(head, extra)
}

// claimNext claims the oldest message or the extra that has been due for longest, whichever comes first.
func (c *claimant) claimNext(head, extra *entry) store.Claim {
	chosen, blocked := c.choose(head, extra)
	if chosen == nil {
		if blocked.state == store.AwaitingLookup {
			c.pause.lookupUntil = c.tx.now + blocked.wait
		}
		return c.lookAfter(blocked.state, blocked.wait, c.nextExtra)
	}
	c.pause.lookupUntil = 0
	if c.look && chosen.isSend() {
		if chosen.isEdit {
			return c.lookSoon(store.EditReady)
		}
		return c.lookSoon(store.PostReady)
	}
	c.mark(chosen)
	c.lookNext(c.lease.until)
	claim := c.claimed(chosen)
	claim.More = len(c.tx.outbox().messages) > 1 || head != nil && extra != nil
	return claim
}

// claimed describes the entry of a claim.
func (c *claimant) claimed(chosen *candidate) store.Claim {
	e := chosen.entry
	claimed := store.Entry{
		Number: e.number, Kind: e.kind, Payload: e.payload, Attempts: e.attempts - 1, Faults: e.faults,
		Age: store.Microseconds(max(0, c.tx.now-e.at)), AdmittedAt: e.at, Thread: e.thread, Name: e.name,
	}
	if chosen.isUnknown {
		claimed.UnknownSince = time.UnixMicro(e.sent)
		claimed.Lookups = e.looked
	}
	return store.Claim{State: chosen.state, Entry: claimed}
}

// mark notes a claim in the entry, the lease and the pace.
func (c *claimant) mark(chosen *candidate) {
	e := chosen.entry
	e.claim = entryClaim{}
	if chosen.state == store.Claimed {
		e.claim = entryClaim{call: c.call.Number, kind: e.claimKind(), owner: c.opts.Owner}
	}
	if chosen.isSend() {
		if !chosen.isEdit {
			c.pace.emptyAt = max(c.tx.now, c.pace.emptyAt) + c.paceEvery()
		}
		if e.sent == 0 {
			e.sent = c.tx.now
		}
		e.tried = c.tx.now
		e.resend = false
		e.looked = 0
	}
	e.attempts++
	c.lease.owner = c.opts.Owner
	c.lease.until = c.tx.now + c.opts.Lease.Microseconds()
	c.lease.call = c.call.Number
	c.lease.inFlight = e.number
}
