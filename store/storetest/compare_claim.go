package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/store"
)

func (h *comparison) claim(t *rapid.T) {
	h.t = t
	sender := rapid.IntRange(0, 1).Draw(t, "sender")
	look := rapid.IntRange(0, 4).Draw(t, "look") == 0
	lost := rapid.IntRange(0, 3).Draw(t, "answered") == 0
	dueAt := time.UnixMicro(h.b.dueAt(h.tb, store.WorkSend))
	claim := same(h, "claim", func(w Fixture) (store.Claim, error) {
		asking := t.Context()
		if lost {
			asking = &unanswered{Context: asking}
		}
		c, err := w.sender(sender).Claim(asking, Scope, h.terms, look)
		c.Until = time.Time{}
		if c.Entry.Kind == store.KindDigest || c.Entry.Kind == store.KindDigestEdit {
			var digest store.Digest
			require.NoError(t, json.Unmarshal(c.Entry.Payload, &digest))
			c.Entry.Payload = fmt.Append(nil, digest) // the order of JSON fields has no meaning
		}
		return c, err
	})
	h.requireDueBefore(sender, claim, dueAt)
	if lost || claim.State.HasEntry() {
		h.leased[sender] = h.b.Now().Add(10 * time.Second)
	}
	if claim.State == store.Claimed || claim.State == store.Stale { // that of an unanswered claim is not known
		h.claimed[sender] = claim.Entry
	}
	if claim.State == store.Claimed && !strings.HasSuffix(claim.Entry.Kind, store.KindEdit) && claim.Entry.UnknownSince.IsZero() {
		name := nameOf(claim.Entry)
		require.False(t, h.sent[name], "%v may have been posted", name)
		h.sent[name] = true
	}
}
