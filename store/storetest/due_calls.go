package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

// addsWork are calls that add work to [Scope], with what precedes them.
var addsWork = map[string]func(t *testing.T, b Fixture) error{
	"admit": func(t *testing.T, b Fixture) error { t.Helper(); b.Fill(t, 1); return nil },
	"append": func(t *testing.T, b Fixture) error {
		t.Helper()
		return b.A.Append(t.Context(), Scope, "1", store.KindNotice, nil)
	},
	"force": func(t *testing.T, b Fixture) error {
		t.Helper()
		_, err := b.Force(t.Context(), Scope, []store.Request{Small.Request("1", "a")})
		return err
	},
	"restore": func(t *testing.T, b Fixture) error {
		t.Helper()
		id := store.MergeID{Replica: "r", Sequence: 1}
		return b.A.Restore(t.Context(), Scope, []store.Request{Small.Request("1", "a")}, id)
	},
	"a drop for the digest": func(t *testing.T, b Fixture) error { t.Helper(); b.DropForDigest(t, "disk", 1); return nil },
	"a count for the digest": func(t *testing.T, b Fixture) error {
		t.Helper()
		counts := store.LocalCounts{DigestCounts: map[string]int64{"d:a:error": 1}}
		return b.A.MergeCounts(t.Context(), Scope, store.MergeID{Replica: "r", Sequence: 1}, counts)
	},
	"retry": func(t *testing.T, b Fixture) error {
		t.Helper()
		return b.A.Retry(t.Context(), Scope, b.claimFirst(t), store.RetryPlan{Wait: time.Hour})
	},
	"release": func(t *testing.T, b Fixture) error {
		t.Helper()
		b.claimFirst(t)
		return b.A.Release(t.Context(), Scope)
	},
	"resume": func(t *testing.T, b Fixture) error {
		t.Helper()
		b.Fill(t, 1)
		require.NoError(t, b.A.Pause(t.Context(), Scope, time.Hour, "maintenance"))
		require.Equal(t, store.Paused, Claim(t, b.A, Unpaced).State)
		require.Empty(t, b.due(t))
		return b.A.Pause(t.Context(), Scope, 0, "")
	},
	"expire": func(t *testing.T, b Fixture) error {
		t.Helper()
		return b.A.Expire(t.Context(), Scope, b.claimFirst(t), map[string]int64{"x:a:error": 1})
	},
}

// claimFirst claims the first of two messages.
func (b Fixture) claimFirst(t *testing.T) store.Entry {
	t.Helper()
	b.Fill(t, 2)
	entry := ClaimEntry(t, b.A)
	require.Empty(t, b.due(t), "its sender has a lease")
	return entry
}

func testEveryCallThatAddsWorkMakesItsChannelDue(t *testing.T, start Start) {
	for name, add := range addsWork {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			require.Empty(t, b.due(t))
			require.NoError(t, add(t, b))
			require.Equal(t, sendNow, b.due(t))
			b.Advance(-time.Minute)
			require.Empty(t, b.due(t), "the clock went back")
		})
	}
}

func testCallsThatAddNoWorkMakeNoChannelDue(t *testing.T, start Start) {
	b := start(t)
	r := Small.Request("1", "a")
	r.Enqueue = nil
	b.MustAdmit(t, r, r)
	_, err := b.Peek(t.Context(), Scope, []store.Request{Small.Request("2", "a")})
	require.NoError(t, err)
	require.NoError(t, b.A.Release(t.Context(), Scope))
	require.NoError(t, b.A.Pause(t.Context(), Scope, time.Hour, "maintenance"))
	require.NoError(t, b.A.Digest(t.Context(), Scope, store.DigestTerms{Interval: time.Minute}))
	require.Empty(t, b.DueIndex(t))
}
