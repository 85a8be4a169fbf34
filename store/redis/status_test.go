package redis_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// roundTrips counts how often a client waits for its server.
type roundTrips struct{ n atomic.Int64 }

func (*roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.n.Add(1)
		return next(ctx, cmd)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.n.Add(1)
		return next(ctx, cmds)
	}
}

func TestManyChannelsAreReadInFewRoundTrips(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	var queries []store.StatusQuery
	for i := range 250 {
		channel := store.Channel{Name: fmt.Sprint("channel-", i)}
		queries = append(queries, store.StatusQuery{
			Channel: channel, Level: storetest.ChannelLevel(channel.Name, storetest.PerMinute(10)),
		})
	}
	_, err := s.Statuses(t.Context(), queries) // the server has the script now
	require.NoError(t, err)
	trips := &roundTrips{}
	client.AddHook(trips)
	statuses, err := s.Statuses(t.Context(), queries)
	require.NoError(t, err)
	require.Len(t, statuses, len(queries))
	require.EqualValues(t, 3, trips.n.Load())
}

// The channels spread over the nodes, and each round trip asks all nodes at once.
func TestChannelsOfAClusterAreReadFromAllNodesAlike(t *testing.T) {
	t.Parallel()
	const channels = 3000
	cluster := redistest.StartCluster(t, 0)
	client := universal(t, redis.UniversalOptions{Addrs: cluster.Addrs(), IsClusterMode: true})
	s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	var queries []store.StatusQuery
	for i := range channels {
		channel := store.Channel{Name: fmt.Sprintf("channel-%05d", i)}
		queries = append(queries, store.StatusQuery{
			Channel: channel, Level: storetest.ChannelLevel(channel.Name, storetest.PerMinute(10)),
		})
	}
	for i := 0; i < channels; i += 500 {
		require.NoError(t, s.CountMuted(t.Context(), queries[i].Channel, int64(i+1)))
	}
	_, err := s.Statuses(t.Context(), queries[:300]) // all nodes have the script now
	require.NoError(t, err)
	before := make([]int64, len(cluster.Nodes))
	for i, node := range cluster.Nodes {
		before[i] = scriptCalls(t, node)
	}
	trips := &roundTrips{}
	client.AddHook(trips)
	statuses, err := s.Statuses(t.Context(), queries)
	require.NoError(t, err)
	require.EqualValues(t, channels/100, trips.n.Load())
	for i := range statuses {
		want := int64(0)
		if i%500 == 0 {
			want = int64(i + 1)
		}
		require.Equal(t, want, statuses[i].Ledger.Muted, "each status is that of its channel")
	}
	for i, node := range cluster.Nodes {
		require.InEpsilon(t, channels/3, scriptCalls(t, node)-before[i], 0.1, "node %d", i)
	}
}

// scriptCalls returns how many scripts a server has run.
func scriptCalls(t *testing.T, server *redistest.Server) int64 {
	t.Helper()
	stats := server.Client().Info(t.Context(), "commandstats").Val()
	found := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(stats)
	require.NotNil(t, found, stats)
	calls, err := strconv.ParseInt(found[1], 10, 64)
	require.NoError(t, err)
	return calls
}
