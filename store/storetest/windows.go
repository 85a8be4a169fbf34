package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var windowsBehaviours = []behaviour{
	{"RefusingWindowIsNamed", testRefusingWindowIsNamed},
}

// BurstAndLong are two windows: after a burst the short one is free again, and the long one refuses.
var BurstAndLong = []ratelimit.Window{{Limit: 3, Per: time.Second}, {Limit: 5, Per: time.Minute}}

// BurstRequest is a request of a level with the windows [BurstAndLong].
func BurstRequest(id string) store.Request {
	return store.Request{
		Request: ratelimit.Request{
			ID:       id,
			Category: "a",
			Levels:   []ratelimit.Level{ChannelLevel(Scope.Group, BurstAndLong...)},
		},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte("{}")},
		Policy:  &store.MessagePolicy{Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, KeepDrops: 10},
	}
}

// FillLongWindow fills the long window, while the short one is free.
func FillLongWindow(t *testing.T, b Fixture) {
	t.Helper()
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		b.Advance(time.Second)
		require.Equal(t, store.Admitted, b.AdmitOne(t, BurstRequest(id)).Outcome)
	}
	b.Advance(1500 * time.Millisecond)
}

func testRefusingWindowIsNamed(t *testing.T, start Start) {
	b := start(t)
	FillLongWindow(t, b)
	d := b.AdmitOne(t, BurstRequest("6"))
	require.Equal(t, BurstAndLong[1], d.Window)
	require.Equal(t, 54500*time.Millisecond, d.RetryAfter)
	drops, err := b.Drops(t.Context(), Scope, "", 1)
	require.NoError(t, err)
	require.Equal(t, int64(5), drops[0].Used, "the drop log names it too")
	require.Equal(t, int64(5), drops[0].Limit, "the drop log names it too")
	require.Equal(t, d.RetryAfter, drops[0].RetryAfter)

	two := BurstRequest("7")
	two.N = 4
	require.Equal(t, BurstAndLong[0], b.AdmitOne(t, two).Window, "the one that it can never fit")
	b.Advance(time.Hour)
	for _, id := range []string{"8", "9", "10"} {
		b.AdmitOne(t, BurstRequest(id))
	}
	require.Equal(t, BurstAndLong[0], b.AdmitOne(t, BurstRequest("11")).Window)
	b.Advance(time.Second)
	require.Equal(t, ratelimit.Window{}, b.AdmitOne(t, BurstRequest("12")).Window)
}
