package memory

import (
	"time"

	"slackrelay/store"
)

// readyFor is how long a sender has to go on with what is ready, before others look at the channel.
const readyFor = int64(time.Second / time.Microsecond)

// lookForDigest returns when the next digest may be due; 0 = nothing is counted for one.
func (c *claimant) lookForDigest() int64 {
	if c.terms.Digest.Interval == 0 {
		return 0
	}
	return dueDigest{c.tx.digest(), c.terms.Digest, c.tx.now}.nextLook()
}

// lookNext notes when to look at the channel next: at the earliest of some times, any of which may be 0, and of the next
// digest.
func (c *claimant) lookNext(times ...int64) {
	earliest := c.nextDigest
	for _, at := range times {
		if at > 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	c.tx.lookAt(store.WorkSend, earliest)
}

// lookAfter notes when a state ends, or an earlier time, and returns the claim in this state.
func (c *claimant) lookAfter(state store.ClaimState, wait int64, others ...int64) store.Claim {
	c.lookNext(append(others, c.tx.now+wait)...)
	return blockedAs(state, wait)
}

// lookSoon lets others look soon, and returns the claim in this state.
func (c *claimant) lookSoon(state store.ClaimState) store.Claim {
	c.tx.lookAt(store.WorkSend, c.tx.now+readyFor)
	return blockedAs(state, 0)
}
