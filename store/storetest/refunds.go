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
	for _, s := range TimedStrategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: time.Hour}}}
			level := store.ChannelLevel(tier, "refund")
			request := func(id string) store.Request {
				return store.Request{Request: ratelimit.Request{ID: id, Levels: []ratelimit.Level{level}}}
			}
			b.MustAdmit(t, request("1"))
			b.Advance(time.Second)
			require.NoError(t, b.Refund(t.Context(), Scope, request("never admitted")))
			require.Equal(t, int64(1), b.Used(t, level))
			for range 3 {
				require.NoError(t, b.Refund(t.Context(), Scope, request("1")))
				require.LessOrEqual(t, b.Used(t, level), int64(1))
			}
			b.Advance(20 * time.Minute) // a gate and a bucket may have drained in part
			require.Equal(t, "=+", Outcomes(b.MustAdmit(t, request("1"), request("2"))), "the id stays remembered")
		})
	}
}
