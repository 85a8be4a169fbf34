package replica_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// A storm that this process refuses by itself is recorded in part, and counted in whole.
func TestStormRefusedByTheCacheIsSampledInTheDropLog(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true, Drops: 10_000}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	request := func(id, category string) store.Request {
		r := l.Told(h, id, category, "", "")
		payload := r.Enqueue
		r.Enqueue, r.ID = nil, ""
		r.Complete = func(r *store.Request) error {
			r.ID, r.Enqueue = id, payload
			return nil
		}
		return r
	}
	_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{request("1", "a"), request("2", "a")})
	require.NoError(t, err)
	for i := range 3000 {
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{request(fmt.Sprint("storm", i), fmt.Sprint("c", i%30))})
		require.NoError(t, err)
		require.Equal(t, storetest.Dropped, decisions[0].Outcome)
	}
	require.NoError(t, limiter.Flush(t.Context()))
	drops, err := limiter.Drops(t.Context(), storetest.Scope, "", 10_000)
	require.NoError(t, err)
	require.Less(t, len(drops), 3001)
	seen := map[string]bool{}
	for _, d := range drops {
		seen[d.Category] = true
		var payload struct{ ID string }
		require.NoError(t, json.Unmarshal(d.Payload, &payload))
		require.NotEmpty(t, payload.ID)
		require.Equal(t, []any{"channel", int64(1), int64(1)}, []any{d.Level, d.Used, d.Limit})
	}
	require.Len(t, seen, 31, "the first of each category")
	require.Contains(t, string(drops[0].Payload), "storm2999", "and the newest")
	digest := client.HGetAll(t.Context(), "relay:{alerts}:digest:alerts").Val()
	require.Equal(t, "3001", digest["noted"])
	require.Equal(t, "100", digest["d:c7:error"])
	for _, key := range []string{"drops", "digest"} {
		require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:"+key+":alerts").Val(), key)
	}
}

// What the cache knows to be closed is asked all the same where it may spend no slot.
func TestClosedCacheDoesNotDecideWhatIsAttached(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	decide := func(r store.Request) store.Decision {
		decisions, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		return decisions[0]
	}
	require.Equal(t, storetest.Admitted, decide(l.Told(h, "1", "c", store.Firing, "f")).Outcome)
	require.Equal(t, storetest.Dropped, decide(l.Told(h, "2", "c", "", "")).Outcome)
	require.Equal(t, store.ByClosedCache, decide(l.Told(h, "3", "c", "", "")).DecidedBy)
	require.Equal(t, storetest.Merged, decide(l.Told(h, "4", "c", store.Firing, "f")).Outcome)
	require.Equal(t, storetest.Admitted, decide(l.Told(h, "5", "c", store.Resolved, "f")).Outcome, "it takes the place of the one that waits")
}

// What the closed-until cache refuses names the same window: in the decision, in the error, and in the record.
func TestClosedCacheNamesTheWindowThatRefuses(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		shared := storetest.Share(t, b.Limiter, replica.Options{Now: b.Now, FoldEvery: time.Hour})
		storetest.FillLongWindow(t, b)
		for range 2 {
			_, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{storetest.BurstRequest("6")})
			require.NoError(t, err)
		}
		d, err := shared.Admit(t.Context(), storetest.Scope, []store.Request{storetest.BurstRequest("7")})
		require.NoError(t, err)
		require.Equal(t, store.ByClosedCache, d[0].DecidedBy)
		require.Equal(t, storetest.BurstAndLong[1], d[0].Window)
		err = store.Do(t.Context(), shared, storetest.Scope, storetest.BurstRequest("8"), func(context.Context) error { return nil })
		require.EqualError(t, err, "limited by channel, 5 per 1m0s: retry after 54.5s")
		drops, err := shared.Drops(t.Context(), storetest.Scope, "", 10)
		require.NoError(t, err)
		require.Len(t, drops, 4)
		for _, drop := range drops {
			require.Equal(t, []int64{5, 5}, []int64{drop.Used, drop.Limit})
		}
	})
}
