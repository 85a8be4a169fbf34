package storetest

import (
	"context"
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
	h.claimAs(rapid.IntRange(0, 1).Draw(t, "sender"), "claim", func(ctx context.Context, o store.Queue, look bool) (store.Claim, error) {
		return o.Claim(ctx, Scope, h.terms, look)
	})
}

// ackClaim acknowledges what a sender claimed, and claims the next entry.
func (h *comparison) ackClaim(t *rapid.T) {
	h.t = t
	sender := rapid.IntRange(0, 1).Draw(t, "sender")
	entry, ok := h.claimed[sender]
	if !ok {
		return
	}
	delete(h.claimed, sender)
	delivered := store.Delivery{Entry: entry, Receipt: store.Receipt{Channel: "C1", TS: fmt.Sprint(entry.Number, ".000001")}}
	if rapid.IntRange(0, 4).Draw(t, "receipt") == 0 {
		delivered.Receipt = store.Receipt{}
	}
	h.claimAs(sender, "ack and claim", func(ctx context.Context, o store.Queue, look bool) (store.Claim, error) {
		return o.AckClaim(ctx, Scope, delivered, h.terms, look)
	})
}

// claimAs has a sender claim in both stores.
func (h *comparison) claimAs(
	sender int, what string, ask func(ctx context.Context, o store.Queue, look bool) (store.Claim, error),
) {
	look := rapid.IntRange(0, 4).Draw(h.t, "look") == 0
	lost := rapid.IntRange(0, 3).Draw(h.t, "answered") == 0
	dueAt := time.UnixMicro(h.b.dueAt(h.tb, store.WorkSend))
	claim := same(h, what, func(w Fixture) (store.Claim, error) {
		asking := h.t.Context()
		if lost {
			asking = &unanswered{Context: asking}
		}
		c, err := ask(asking, w.sender(sender), look)
		c.Until = time.Time{}
		if c.Entry.Kind == store.KindDigest || c.Entry.Kind == store.KindDigestEdit {
			var digest store.Digest
			require.NoError(h.t, json.Unmarshal(c.Entry.Payload, &digest))
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
		require.False(h.t, h.sent[name], "%v may have been posted", name)
		h.sent[name] = true
	}
}
