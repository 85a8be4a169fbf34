package memory

import (
	"strings"

	"slackrelay/store"
)

// candidate is an entry with its state, and how long the state lasts.
type candidate struct {
	entry     *entry
	state     store.ClaimState
	wait      int64
	isEdit    bool
	isUnknown bool // it may have been posted: it is to be looked up
}

// isSend reports whether a claim of the candidate begins an attempt.
func (c *candidate) isSend() bool { return c.state == store.Claimed && !c.isUnknown }

// block sets the state that lasts for a wait, if there is one.
func (c *candidate) block(state store.ClaimState, wait int64) {
	c.wait = wait
	if wait > 0 {
		c.state = state
	}
}

// choose returns the first entry that can be claimed, of the oldest message and the extra that has been due for longest, in
// the order of their times; either may be nil. Where none can, it returns the one that waits for the shortest time.
func (c *claimant) choose(head, extra *entry) (chosen, blocked *candidate) {
	first, second := c.candidate(head), c.candidate(extra)
	if head != nil && extra != nil && extra.due < head.at {
		first, second = second, first
	}
	for _, one := range []*candidate{first, second} {
		switch {
		case one == nil:
		case one.state == store.Claimed || one.state == store.Stale:
			return one, nil
		case blocked == nil || one.wait < blocked.wait:
			blocked = one
		}
	}
	return nil, blocked
}

// candidate returns an entry with its state. It returns nil for nil.
func (c *claimant) candidate(e *entry) *candidate {
	if e == nil {
		return nil
	}
	c.forgetLostClaim(e)
	one := &candidate{entry: e, state: store.Claimed, isEdit: strings.HasSuffix(e.kind, store.KindEdit)}
	one.isUnknown = e.sent > 0 && !e.resend && !one.isEdit
	lookupDelay := c.terms.LookupDelay.Microseconds()
	switch {
	case one.isEdit:
		one.block(store.Paused, c.pause.editsUntil-c.tx.now)
	case one.isUnknown && lookupDelay <= 0:
	case one.isUnknown:
		one.block(store.AwaitingLookup, e.tried+lookupDelay*(1+2*e.looked)-c.tx.now)
	case !e.isExtra && c.terms.TTL > 0 && c.tx.now-e.at > c.terms.TTL.Microseconds():
		one.state = store.Stale
	default:
		wait := max(c.tx.now, c.pace.emptyAt) - (c.terms.Pace.Burst-1)*c.paceEvery() - c.tx.now
		if ttl := c.terms.TTL.Microseconds(); !e.isExtra && ttl > 0 {
			wait = min(wait, e.at+ttl+1-c.tx.now) // then it is stale
		}
		one.block(store.Paced, wait)
	}
	return one
}

// forgetLostClaim removes the mark that a claim without a reply left: its owner sent nothing.
func (c *claimant) forgetLostClaim(e *entry) {
	if e.claim.kind == claimNone || e.claim.owner != c.opts.Owner || !c.call.Lost(e.claim.call) {
		return
	}
	if e.claim.kind == claimFirst {
		e.forgetAttempts()
		return
	}
	e.resend = true
	e.claim = entryClaim{}
}
