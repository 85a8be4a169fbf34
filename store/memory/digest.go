package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slackrelay/store"
)

// digestDue follows lua/claim.lua.
func (c *claiming) digestDue() bool {
	terms, state := c.terms.Digest, Look[Digest](c.tx, c.keys.Digest())
	if terms.Interval == 0 || state == nil {
		return false
	}
	return digesting{state, terms, c.tx.Now}.due(state.Noted >= terms.Minimum)
}

// digesting is a look at what a digest has to tell.
type digesting struct {
	*Digest
	terms store.DigestTerms
	now   int64
}

func (d digesting) ends() bool { return d.Open > 0 && d.now >= d.Open+d.terms.Interval.Microseconds() }

func (d digesting) due(enough bool) bool {
	switch {
	case d.Open > 0:
		return d.ends() || d.Since > 0 && d.now >= d.Moved+d.terms.EditEvery.Microseconds()
	case d.Since == 0:
		return false
	default:
		gathered := d.now >= d.Since+d.terms.EditEvery.Microseconds()/3
		return d.terms.EditEvery > 0 && enough && gathered || d.now >= d.Since+d.terms.Interval.Microseconds()
	}
}

// Digest implements [Outbox]. It follows lua/digest.lua.
func (m *Store) Digest(_ context.Context, channel store.Channel, terms store.DigestTerms) error {
	var fault error
	m.data.Do(func(tx *Tx) {
		k := channel.Keys()
		d := digesting{LookOrNew[Digest](tx, k.Digest()), terms, tx.Now}
		enough := d.Noted >= terms.Minimum
		switch {
		case !d.due(enough):
		case d.Open == 0 && !enough:
			tx.Delete(k.Digest())
		default:
			fault = d.move(tx, channel)
			if terms.EditEvery == 0 || d.ends() {
				tx.Delete(k.Digest())
			} else if d.Open == 0 {
				d.Open = tx.Now
			}
		}
	})
	return fault
}

// move makes an entry of what was noted.
func (d digesting) move(tx *Tx, channel store.Channel) error {
	k := channel.Keys()
	if d.Open == 0 {
		d.From, d.Totals, d.ID = d.Since, map[string]int64{}, fmt.Sprintf("%s:%d", channel.Name, d.Since)
	}
	for name, n := range d.Counts {
		d.Totals[name] += n
	}
	body := store.Digest{
		ID: d.ID, From: d.From, Last: d.Last, Counts: maps.Clone(d.Totals), Closed: d.ends() || d.terms.EditEvery == 0,
		Silent: silentCategories(Look[Told](tx, k.Told()), d.Totals, d.From-d.terms.Interval.Microseconds()),
	}
	if body.Last == 0 {
		body.Last = d.Moved
	}
	d.Since, d.Last, d.Noted, d.Counts, d.Moved = 0, 0, 0, nil, tx.Now
	box := Value[Queue](tx, k.Outbox())
	if d.Open == 0 {
		d.Post, d.Edit, body.Post = box.Seq+1, 0, box.Seq+1
		if d.terms.EditEvery > 0 {
			Value[Posted](tx, k.Posted()).Touch(d.Post, &store.PostedMessage{At: tx.Now}, tx.Now)
		}
		return put(box, tx.Now, store.KindDigest, body)
	}
	body.Post = d.Post
	for _, number := range []int64{d.Post, d.Edit} {
		if entry, _ := box.Find(number); entry != nil && entry.Sent == 0 {
			var err error
			entry.At = tx.Now
			entry.Payload, err = json.Marshal(body)
			return err
		}
	}
	d.Edit = box.Seq + 1
	return put(box, tx.Now, store.KindDigestEdit, body)
}

func put(box *Queue, now int64, kind string, body store.Digest) error {
	payload, err := json.Marshal(body)
	if err == nil {
		box.Put(now, now, kind, payload)
	}
	return err
}

// silent are the categories of which nothing was admitted since a time.
func silentCategories(told *Told, totals map[string]int64, since int64) []string {
	found := map[string]bool{}
	for name := range totals {
		if parts := strings.SplitN(name, ":", 3); parts[0] != "t" && told.When(parts[1]) <= since {
			found[parts[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
