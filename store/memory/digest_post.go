package memory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slackrelay/lua"
	"slackrelay/store"
)

// update enqueues the digest's post, or an edit of it, with all that was counted since.
func (d dueDigest) update(tx *Tx, channel store.Channel) error {
	keys := channel.Keys()
	if d.state.open == 0 {
		d.state.from = d.state.since
		d.state.totals = map[string]int64{}
		d.state.id = fmt.Sprintf("%s:%d", channel.Name, d.state.since)
	}
	for name, n := range d.state.counts {
		d.state.totals[name] += n
	}
	body := d.body(Look[categoryTimes](tx, keys.LastAdmitted()))
	d.state.since = 0
	d.state.last = 0
	d.state.events = 0
	d.state.counts = nil
	d.state.moved = tx.now
	if d.state.open == 0 {
		return d.addPost(tx, keys, body)
	}
	return d.editPost(lookOrCreate[queue](tx, keys.Outbox()), body)
}

func (d dueDigest) body(lastAdmitted *categoryTimes) store.Digest {
	body := store.Digest{
		ID: d.state.id, From: d.state.from, Last: d.state.last, Counts: maps.Clone(d.state.totals), Closed: d.isLast(),
		Silent: silentCategories(d.state.totals, lastAdmitted, d.state.from-d.terms.Interval.Microseconds()),
	}
	if body.Last == 0 {
		body.Last = d.state.moved
	}
	return body
}

// addPost enqueues the post. Where it can be edited later, it is remembered like any other message.
func (d dueDigest) addPost(tx *Tx, keys lua.Keys, body store.Digest) error {
	outbox := lookOrCreate[queue](tx, keys.Outbox())
	d.state.post = outbox.seq + 1
	d.state.edit = 0
	body.Post = d.state.post
	if d.terms.EditEvery > 0 {
		lookOrCreate[posted](tx, keys.Posted()).keep(d.state.post, &store.PostedMessage{At: tx.now}, tx.now)
	}
	return addDigest(outbox, tx.now, store.KindDigest, body)
}

// editPost rewrites an entry that nobody began to send, or adds an edit.
func (d dueDigest) editPost(outbox *queue, body store.Digest) error {
	body.Post = d.state.post
	for _, number := range []int64{d.state.post, d.state.edit} {
		if unsent, _ := outbox.find(number); unsent.isUnsent() {
			payload, err := json.Marshal(body)
			unsent.at = d.now
			unsent.payload = payload
			return err
		}
	}
	d.state.edit = outbox.seq + 1
	return addDigest(outbox, d.now, store.KindDigestEdit, body)
}

func addDigest(outbox *queue, now int64, kind string, body store.Digest) error {
	payload, err := json.Marshal(body)
	if err == nil {
		outbox.addExtra(now, now, kind, payload)
	}
	return err
}

// silentCategories are the categories of counts of which nothing was admitted since a time.
func silentCategories(totals map[string]int64, lastAdmitted *categoryTimes, since int64) []string {
	silent := map[string]bool{}
	for name := range totals {
		if parts := strings.SplitN(name, ":", 3); parts[0] != "t" && lastAdmitted.when(parts[1]) <= since {
			silent[parts[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(silent))
}
