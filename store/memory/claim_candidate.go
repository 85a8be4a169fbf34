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
	kind      claimKind
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

// candidates are the oldest message and the extra that has been due for longest, in the order of their times. Either may
// be nil.
func (c *claimant) candidates(head, extra *entry) []*candidate {
	var order []*candidate
	if head != nil {
		order = append(order, c.candidate(head))
	}
	if extra != nil {
		order = append(order, c.candidate(extra))
	}
	if len(order) == 2 && extra.due < head.at {
		order[0], order[1] = order[1], order[0]
	}
	return order
}

// choose returns the first candidate that can be claimed; else nil and the one that waits for the shortest time.
func choose(order []*candidate) (chosen, blocked *candidate) {
	for _, one := range order {
		if one.state == store.Claimed || one.state == store.Stale {
			return one, nil
		}
		if blocked == nil || one.wait < blocked.wait {
			blocked = one
		}
	}
	return nil, blocked
}

func (c *claimant) candidate(e *entry) *candidate {
	c.forgetLostClaim(e)
	one := &candidate{entry: e, state: store.Claimed, isEdit: strings.HasSuffix(e.kind, store.KindEdit)}
	one.isUnknown = e.sent > 0 && !e.resend && !one.isEdit
	switch {
	case e.sent == 0:
		one.kind = claimFirst
	case e.resend:
		one.kind = claimResend
	}
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
		one.block(store.Paced, max(c.tx.now, c.pace.emptyAt)-(c.terms.Pace.Burst-1)*c.paceEvery()-c.tx.now)
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
