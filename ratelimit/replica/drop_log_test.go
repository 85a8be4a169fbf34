package replica_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// A storm that this process refuses by itself is recorded in part, and counted in whole.
func TestStormIsRecordedInPartAndCountedInWhole(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	limiter := storetest.Share(t, redisstore.New(client, redisstore.Options{}), replica.Options{})
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", Digest: true, KeepDrops: 10_000}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	request := func(id, category string) store.Request { return uncompleted(l.AlertRequest(h, id, category, "", "")) }
	_, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{request("1", "a"), request("2", "a")})
	require.NoError(t, err)
	for i := range 3000 {
		r := request(fmt.Sprint("storm", i), fmt.Sprint("c", i%30))
		answer, err := limiter.Admit(t.Context(), storetest.Scope, []store.Request{r})
		require.NoError(t, err)
		require.Equal(t, storetest.Dropped, answer.Decisions[0].Outcome)
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
		require.Equal(t, "channel", d.Level)
		require.Equal(t, int64(1), d.Used)
		require.Equal(t, int64(1), d.Limit)
	}
	require.Len(t, seen, 31, "the first of each category")
	require.Contains(t, string(drops[0].Payload), "storm2999", "and the newest")
	digest := client.HGetAll(t.Context(), "relay:{alerts}:digest:alerts").Val()
	require.Equal(t, "3001", digest["noted"])
	require.Equal(t, "100", digest["d:c7:error::channel"])
	for _, key := range []string{"drops", "digest"} {
		require.Positive(t, client.PTTL(t.Context(), "relay:{alerts}:"+key+":alerts").Val(), key)
	}
}

// uncompleted is the request without its id and its message, until it is completed.
func uncompleted(r store.Request) store.Request {
	id, message := r.ID, r.Enqueue
	r.ID = ""
	r.Enqueue = nil
	fingerprint, answers := r.Event.Fingerprint, r.Event.ReplyTo
	r.Source = sourceFunc(func() (store.Admission, error) {
		return store.Admission{ID: id, Enqueue: message, Fingerprint: fingerprint, ReplyTo: answers}, nil
	})
	return r
}
