package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var bundlesBehaviours = []behaviour{
	{"BundlesAreBoundedInBytes", testBundlesAreBoundedInBytes},
	{"RefusedBundleNamesTheLevelThatRefusedItsFirstEvent", testRefusedBundleNamesTheLevelThatRefusedItsFirstEvent},
}

// largeRequests are n requests with payloads of 32 KiB: each of a category of its own, or all of one bundle.
func largeRequests(n, limit int, h *store.MessagePolicy, bundle string) []store.Request {
	requests := make([]store.Request, n)
	for i := range requests {
		category := fmt.Sprint("c", i)
		if bundle != "" {
			category = "c"
		}
		requests[i] = store.Request{
			Request: ratelimit.Request{
				ID:       fmt.Sprint(bundle, "LargeEvent", i, h.Overflow),
				Category: category,
				Levels:   []ratelimit.Level{ChannelLevel("alerts", ratelimit.Window{Limit: int64(limit), Per: time.Hour})},
			},
			Policy: h,
			Event: store.Event{
				Severity: "error",
				Bundle:   bundle, Status: store.Firing, Fingerprint: fmt.Sprint("f", i),
			},
			Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: bytes.Repeat([]byte{byte('a' + i%26)}, LargeEvent)},
		}
	}
	return requests
}

// A message of a bundle contains as many events as fit into it; the others are counted, as are those that a resolve may find.
func testBundlesAreBoundedInBytes(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit"}
	requests := largeRequests(9, 10, h, "webhook")
	requests[8].Enqueue.Payload = []byte("small")
	_, err := b.Admit(t.Context(), Scope, requests)
	require.NoError(t, err)
	entry := ClaimEntry(t, b.A)
	require.Equal(t, strings.Repeat("a", LargeEvent)+"\nsmall\n+7", string(entry.Payload))
	record, err := b.A.PostedMessage(t.Context(), Scope, entry.Number)
	require.NoError(t, err)
	require.Len(t, record.Events, 2)
	require.Len(t, record.Members, 7)
}

// The events of a bundle may have levels of their own. A bundle is decided by its first event, also where another has room at
// its levels, or has fewer of them.
func testRefusedBundleNamesTheLevelThatRefusedItsFirstEvent(t *testing.T, start Start) {
	b := start(t)
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 10}
	full := store.LevelOf(ratelimit.LevelSpec{Name: "team", Windows: []ratelimit.Window{PerMinute(0)}, Shadow: true}, Scope, "")
	of := func(id, bundle string, levels ...ratelimit.Level) store.Request {
		r := narrow.AlertRequest(h, id, "c", store.Firing, id)
		r.Event.Bundle = bundle
		r.Levels = append(r.Levels, levels...)
		return r
	}
	host := func(name string) ratelimit.Level { return Level(Scope, "host", name, PerMinute(1)) }
	b.MustAdmit(t, of("1", "", full, host("x")))
	got := b.MustAdmit(t, of("2", "webhook", full, host("x")), of("3", "webhook", full, host("y")), of("4", "webhook"))
	for i, d := range got {
		require.Equal(t, store.Dropped, d.Outcome)
		require.Equal(t, []string{"host"}, d.Refused)
		require.Equal(t, "host", d.Level)
		require.Equal(t, PerMinute(1), d.Window)
		require.Equal(t, time.Minute, d.RetryAfter)
		require.Len(t, d.Shadow, max(0, 1-i), "the others asked no level")
	}
	drops, err := b.Drops(t.Context(), Scope, "", 10)
	require.NoError(t, err)
	require.Len(t, drops, 3)
	for _, d := range drops {
		require.Equal(t, "host", d.Level)
		require.Equal(t, int64(1), d.Used)
		require.Equal(t, int64(1), d.Limit)
		require.Equal(t, time.Minute, d.RetryAfter)
	}
}
