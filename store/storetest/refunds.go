package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var refundsBehaviours = []behaviour{
	{"RefundGivesBackOnce", testRefundGivesBackOnce},
}

func testRefundGivesBackOnce(t *testing.T, start Start) {
	b := start(t)
	for _, s := range Strategies[:7] {
		tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: time.Hour}}}
		level := store.ChannelLevel(tier, "refund "+s.Name)
		request := func(id string) store.Request {
			return store.Request{ID: s.Name + id, Levels: []ratelimit.Level{level}}
		}
		b.MustAdmit(t, request("1"))
		b.Advance(time.Second)
		require.NoError(t, b.Refund(t.Context(), Scope, request("unheard of")), s.Name)
		require.Equal(t, int64(1), b.Used(t, level), s.Name)
		for range 3 {
			require.NoError(t, b.Refund(t.Context(), Scope, request("1")), s.Name)
			require.LessOrEqual(t, b.Used(t, level), int64(1), s.Name)
		}
		b.Advance(20 * time.Minute) // a gate and a bucket may have drained in part
		require.Equal(t, "=+", Outcomes(b.MustAdmit(t, request("1"), request("2"))), "%s: the id stays remembered", s.Name)
	}
}
