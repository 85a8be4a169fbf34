package replica_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// The closed cache leaves requests to the store that may spend no slot there: repeats and resolves.
func TestClosedCacheDoesNotDecideRequestsThatMaySpendNoSlot(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	decide := func(r store.Request) store.Decision {
		answer, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		return answer.Decisions[0]
	}
	require.Equal(t, storetest.Admitted, decide(l.AlertRequest(h, "1", "c", store.Firing, "f")).Outcome)
	require.Equal(t, storetest.Dropped, decide(l.AlertRequest(h, "2", "c", "", "")).Outcome)
	require.Equal(t, store.ByClosedCache, decide(l.AlertRequest(h, "3", "c", "", "")).DecidedBy)
	require.Equal(t, storetest.Merged, decide(l.AlertRequest(h, "4", "c", store.Firing, "f")).Outcome)
	resolve := l.AlertRequest(h, "5", "c", store.Resolved, "f")
	require.Equal(t, storetest.Admitted, decide(resolve).Outcome, "it takes the place of the one that waits")
}
