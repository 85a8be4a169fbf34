package memory

import (
	"context"

	"slackrelay/store"
)

// Digest implements [store.Queue]. It is the twin of lua/digest.lua.
func (s *Store) Digest(_ context.Context, channel store.Channel, terms store.DigestTerms) error {
	var err error
	s.data.Do(func(tx *Tx) {
		keys := channel.Keys()
		d := dueDigest{state: lookOrEmpty[digestState](tx, keys.Digest()), terms: terms, now: tx.now}
		switch {
		case !d.isDue():
		case d.state.open == 0 && !d.isEnough():
			tx.remove(keys.Digest())
		default:
			err = d.update(tx, channel)
			if d.isLast() {
				tx.remove(keys.Digest())
			} else if d.state.open == 0 {
				d.state.open = tx.now
			}
		}
	})
	return err
}

// dueDigest is what a digest has to report, and when.
type dueDigest struct {
	state *digestState
	terms store.DigestTerms
	now   int64
}

// isEnough reports whether there are enough events for a digest.
func (d dueDigest) isEnough() bool { return d.state.events >= d.terms.Minimum }

// isOver reports whether the interval of the open digest is over.
func (d dueDigest) isOver() bool {
	return d.state.open > 0 && d.now >= d.state.open+d.terms.Interval.Microseconds()
}

// isLast reports whether nothing will be added to the digest after this update.
func (d dueDigest) isLast() bool { return d.terms.EditEvery == 0 || d.isOver() }

// isDue reports whether there is something to do. An open digest is edited, and closed at its end.
func (d dueDigest) isDue() bool {
	every := d.terms.EditEvery.Microseconds()
	switch {
	case d.state.open > 0:
		return d.isOver() || d.state.since > 0 && d.now >= d.state.moved+every
	case d.state.since == 0:
		return false
	default:
		isEarly := every > 0 && d.isEnough() && d.now >= d.state.since+every/3
		return isEarly || d.now >= d.state.since+d.terms.Interval.Microseconds()
	}
}
