package memory

import "slackrelay/store"

// markClaimed notes a claim in the entry, the lease and the pace.
func (c *claimant) markClaimed(current *lease, chosen *candidate) {
	e := chosen.entry
	if chosen.isSend() {
		if !chosen.isEdit {
			lookOrCreate[bucket](c.tx, c.keys.Pace()).emptyAt = c.paceEmptyAt + c.paceEvery
		}
		if e.sent == 0 {
			e.sent = c.tx.now
		}
		e.tried = c.tx.now
		e.resend = false
		e.looked = 0
	}
	e.claim = entryClaim{}
	if chosen.state == store.Claimed && chosen.kind != claimNone {
		e.claim = entryClaim{call: c.call.Number, kind: chosen.kind, owner: c.opts.Owner}
	}
	e.attempts++
	current.owner = c.opts.Owner
	current.until = c.tx.now + c.opts.Lease.Microseconds()
	current.call = c.call.Number
	current.inFlight = e.number
}
