package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
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
	s.data.Do(func(tx *Tx) {
		c := claimant{tx: tx, opts: s.opts, keys: channel.Keys(), terms: terms, look: look, call: call}
		claim = c.claim()
	})
	if err := ctx.Err(); err != nil { // the caller is gone, as that of a call over a network may be
		s.calls.Lose(channel, call.Number)
		return store.Claim{}, fmt.Errorf("claim from channel %s: %w", channel.Name, err)
	}
	claim.Wait = s.data.wall(claim.Wait)
	if claim.State == store.Claimed || claim.State == store.Stale {
		claim.Entry.Backlog = terms.Backlog
		claim.Until = before.Add(s.data.wall(s.opts.Lease))
	}
	return claim, nil
}

// claimant is one claim of a sender.
type claimant struct {
	tx    *Tx
	opts  Options
	keys  lua.Keys
	terms store.Terms
	look  bool
	call  store.ClaimCall

	paceEvery   int64 // microseconds
	paceEmptyAt int64 // when the bucket of the pace is empty
	editsUntil  int64 // until then nothing is edited
}

func blockedAs(state store.ClaimState, wait int64) store.Claim {
	return store.Claim{State: state, Wait: store.Microseconds(wait)}
}

func (c *claimant) claim() store.Claim {
	if c.isDigestDue() {
		return blockedAs(store.DigestDue, 0)
	}
	current := lookOrCreate[lease](c.tx, c.keys.Lease())
	outbox := Look[queue](c.tx, c.keys.Outbox())
	head := outbox.head()
	extra := outbox.dueExtra(c.tx.now)
	if head == nil && extra == nil {
		current.release(c.opts.Owner)
		return blockedAs(store.Empty, 0)
	}
	if current.stopped {
		return store.Claim{State: store.Leased, Wait: stoppedWait}
	}
	isOvertaken := current.owner == c.opts.Owner && current.call > c.call.Number // by a later claim: nobody waits for this reply
	if isOvertaken || current.isHeldByOther(c.opts.Owner, c.tx.now) {
		return blockedAs(store.Leased, max(0, current.until-c.tx.now))
	}
	paused := lookOrEmpty[pause](c.tx, c.keys.Pause())
	if paused.until > c.tx.now {
		current.release(c.opts.Owner)
		return blockedAs(store.Paused, paused.until-c.tx.now)
	}
	c.editsUntil = paused.editsUntil
	return c.claimNext(current, head, extra)
}

// isDigestDue reports whether [Store.Digest] has something to do.
func (c *claimant) isDigestDue() bool {
	state := Look[digestState](c.tx, c.keys.Digest())
	if c.terms.Digest.Interval == 0 || state == nil {
		return false
	}
	return dueDigest{state: state, terms: c.terms.Digest, now: c.tx.now}.isDue()
}

// claimNext claims the oldest message or the extra that has been due for longest, whichever comes first.
func (c *claimant) claimNext(current *lease, head, extra *entry) store.Claim {
	c.paceEvery = c.terms.Pace.Every.Microseconds() * c.opts.paceDivisor()
	c.paceEmptyAt = max(c.tx.now, lookOrCreate[bucket](c.tx, c.keys.Pace()).emptyAt)
	chosen, blocked := choose(c.candidates(head, extra))
	if chosen == nil {
		if blocked.state == store.AwaitingLookup {
			lookOrCreate[pause](c.tx, c.keys.Pause()).lookupUntil = c.tx.now + blocked.wait
		}
		return blockedAs(blocked.state, blocked.wait)
	}
	if paused := Look[pause](c.tx, c.keys.Pause()); paused != nil {
		paused.lookupUntil = 0
	}
	if c.look && chosen.isSend() {
		if chosen.isEdit {
			return blockedAs(store.EditReady, 0)
		}
		return blockedAs(store.PostReady, 0)
	}
	c.markClaimed(current, chosen)
	return c.claimed(chosen)
}

// claimed describes the entry of a claim.
func (c *claimant) claimed(chosen *candidate) store.Claim {
	e := chosen.entry
	claimed := store.Entry{
		Number: e.number, Kind: e.kind, Payload: e.payload, Attempts: e.attempts - 1, Faults: e.faults,
		Age: store.Microseconds(c.tx.now - e.at), AdmittedAt: e.at, Thread: e.thread, Name: e.name,
	}
	if chosen.isUnknown {
		claimed.UnknownSince = time.UnixMicro(e.sent)
		claimed.Lookups = e.looked
	}
	return store.Claim{State: chosen.state, Entry: claimed}
}
