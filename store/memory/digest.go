package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slackrelay/store"
)

// Digest implements [store.Queue]. It is the twin of lua/digest.lua.
func (s *Store) Digest(_ context.Context, channel store.Channel, terms store.DigestTerms) (err error) {
	s.do(channel, func(tx channelTx) {
		d := dueDigest{digestState: tx.digest(), terms: terms, now: tx.now}
		switch {
		case !d.isDue():
		case d.open == 0 && !d.isEnough():
			tx.remove(tx.keys.Digest())
		default:
			err = d.update(tx, channel.Name)
			if d.isLast() {
				tx.remove(tx.keys.Digest())
			} else if d.open == 0 {
				d.open = tx.now
			}
		}
	})
	return err
}

// dueDigest is what a digest has to report, and when.
type dueDigest struct {
	*digestState
	terms store.DigestTerms
	now   int64
}

// isEnough reports whether there are enough events for a digest.
func (d dueDigest) isEnough() bool { return d.events >= d.terms.Minimum }

// isOver reports whether the interval of the open digest is over.
func (d dueDigest) isOver() bool {
	return d.open > 0 && d.now >= d.open+d.terms.Interval.Microseconds()
}

// isLast reports whether nothing will be added to the digest after this update.
func (d dueDigest) isLast() bool { return d.terms.EditEvery == 0 || d.isOver() }

// isDue reports whether there is something to do. An open digest is edited, and closed at its end.
func (d dueDigest) isDue() bool {
	at := d.dueAt()
	return at > 0 && d.now >= at
}

// dueAt returns when there is something to do; 0 = nothing is counted.
func (d dueDigest) dueAt() int64 {
	interval, every := d.terms.Interval.Microseconds(), d.terms.EditEvery.Microseconds()
	switch {
	case d.open > 0 && d.since > 0:
		return min(d.open+interval, d.moved+every)
	case d.open > 0:
		return d.open + interval
	case d.since == 0:
		return 0
	case every > 0 && d.isEnough():
		return d.since + min(interval, thirdOf(every))
	default:
		return d.since + interval
	}
}

// nextLook returns when it may be due next; 0 = nothing is counted. What is not enough may be enough by the next look.
func (d dueDigest) nextLook() int64 {
	at, every := d.dueAt(), d.terms.EditEvery.Microseconds()
	if at > 0 && d.open == 0 && every > 0 && !d.isEnough() {
		return min(at, d.now+thirdOf(every))
	}
	return at
}

// thirdOf returns a third, rounded up.
func thirdOf(every int64) int64 { return (every + 2) / 3 }

// update enqueues the digest's post, or an edit of it, with all that was counted since.
func (d dueDigest) update(tx channelTx, channel string) error {
	outbox := tx.outbox()
	isNew := d.open == 0
	if isNew {
		d.from = d.since
		d.totals = map[string]int64{}
		d.id = fmt.Sprintf("%s:%d", channel, d.since)
		d.post = outbox.seq + 1
		d.edit = 0
	}
	for name, n := range d.counts {
		d.totals[name] += n
	}
	payload, err := json.Marshal(d.body(tx.look(tx.keys.LastAdmitted())))
	if err != nil {
		return err
	}
	d.since = 0
	d.last = 0
	d.events = 0
	d.counts = nil
	d.moved = d.now
	if !isNew {
		d.editPost(tx, payload)
		return nil
	}
	if d.terms.EditEvery > 0 { // it can be edited later, and is remembered like any other message
		tx.posted().keep(&message{number: d.post, PostedMessage: store.PostedMessage{At: d.now, From: d.from}}, d.now)
	}
	outbox.addExtra(d.now, d.now, store.KindDigest, payload)
	tx.lookNow(store.WorkSend)
	return nil
}

func (d dueDigest) body(lastAdmitted map[string]int64) store.Digest {
	return store.Digest{
		ID: d.id, From: d.from, Last: cmp.Or(d.last, d.moved), Counts: d.totals,
		Silent: silentCategories(d.totals, lastAdmitted, d.from-d.terms.Interval.Microseconds()),
		Closed: d.isLast(), Post: d.post,
	}
}

// editPost rewrites an entry that nobody began to send, or adds an edit.
func (d dueDigest) editPost(tx channelTx, payload []byte) {
	outbox := tx.outbox()
	for _, number := range []int64{d.post, d.edit} {
		if unsent := outbox.find(number); unsent.isUnsent() {
			unsent.at = d.now
			unsent.payload = payload
			return
		}
	}
	d.edit = outbox.addExtra(d.now, d.now, store.KindDigestEdit, payload)
	tx.lookNow(store.WorkSend)
}

// silentCategories are the categories of counts of which nothing was admitted since a time. If categories may have been forgotten,
// as those with the oldest admissions are, an unknown one may be as late as the oldest that is known.
func silentCategories(totals, lastAdmitted map[string]int64, since int64) []string {
	forgotten := int64(0)
	if len(lastAdmitted) >= store.MaxCategories {
		forgotten = slices.Min(slices.Collect(maps.Values(lastAdmitted)))
	}
	silent := map[string]bool{}
	for name := range totals {
		parts := strings.SplitN(name, ":", 3)
		if parts[0] == "t" || parts[1] == store.OtherCategory {
			continue
		}
		at, known := lastAdmitted[parts[1]]
		if !known {
			at = forgotten
		}
		if at <= since {
			silent[parts[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(silent))
}
