package redis_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// addWork appends a notice to n channels, each in a limit group of its own, and returns them.
func addWork(t *testing.T, s *redisstore.Store, n int) (channels []store.Channel) {
	t.Helper()
	for i := range n {
		channels = append(channels, store.Channel{Name: fmt.Sprint("channel-", i)})
		require.NoError(t, s.Append(t.Context(), channels[i], "1", store.KindNotice, []byte("{}")))
	}
	return channels
}

// A Cluster has one index for each limit group, in the slot of the group. One call asks only some groups; all of them get
// their turn.
func TestDueAsksTheLimitGroupsOfAClusterInTurn(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 0)
	client := universal(t, redis.UniversalOptions{Addrs: cluster.Addrs(), IsClusterMode: true})
	s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	channels := addWork(t, s, 700)
	require.Equal(t, int64(1), client.Exists(t.Context(), channels[0].Keys().Due()).Val())
	require.Zero(t, client.Exists(t.Context(), lua.DueIndex).Val())

	work, err := s.Due(t.Context(), channels, true)
	require.NoError(t, err)
	require.Len(t, work, len(channels))
	first, err := s.Due(t.Context(), channels, false)
	require.NoError(t, err)
	require.Len(t, first, 500)
	second, err := s.Due(t.Context(), channels, false)
	require.NoError(t, err)
	found := map[store.Work]bool{}
	for _, w := range append(first, second...) {
		found[w] = true
	}
	require.Len(t, found, len(channels))

	together := []store.Channel{{Group: "team", Name: "one"}, {Group: "team", Name: "two"}}
	for _, channel := range together {
		require.NoError(t, s.Append(t.Context(), channel, "1", store.KindNotice, []byte("{}")))
	}
	work, err = s.Due(t.Context(), together, false)
	require.NoError(t, err)
	require.Len(t, work, 2)
}

// The work of the nodes that answer is returned with the error of those that do not.
func TestDueReturnsWhatOtherNodesOfAClusterHave(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 0)
	client := universal(t, redis.UniversalOptions{Addrs: cluster.Addrs(), IsClusterMode: true})
	s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	channels := addWork(t, s, 30)
	require.NoError(t, client.Del(t.Context(), channels[3].Keys().Due()).Err())
	require.NoError(t, client.Set(t.Context(), channels[3].Keys().Due(), "x", 0).Err())
	work, err := s.Due(t.Context(), channels, false)
	require.ErrorIs(t, err, store.ErrPartial)
	require.ErrorContains(t, err, "the key relay:{channel-3}:due holds a string where the relay keeps a zset")
	require.Len(t, work, 29)
}

// A node that has all slots of a Cluster is one, even if its client does not know.
func TestSingleNodeOfAClusterHasAnIndexForEachGroup(t *testing.T) {
	t.Parallel()
	client := redistest.StartClusterNode(t).Client()
	b := onServer(client)
	b.Fill(t, 1)
	require.Equal(t, int64(1), client.Exists(t.Context(), storetest.Scope.Keys().Due()).Val())
	require.Zero(t, client.Exists(t.Context(), lua.DueIndex).Val())
	work, err := b.A.Due(t.Context(), []store.Channel{storetest.Scope}, false)
	require.NoError(t, err)
	require.Empty(t, work, "A has made no call with two keys yet")
	storetest.ClaimEntry(t, b.A)
	require.NoError(t, b.A.Release(t.Context(), storetest.Scope))
	work, err = b.A.Due(t.Context(), []store.Channel{storetest.Scope}, false)
	require.NoError(t, err)
	require.Equal(t, []store.Work{{Kind: store.WorkSend, Channel: storetest.Scope}}, work)
}

// Any other Redis has one index.
func TestOneServerHasOneIndex(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	s := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Owner: "a"}})
	channels := addWork(t, s, 3)
	require.Equal(t, []string{"send channel-0:channel-0", "send channel-1:channel-1", "send channel-2:channel-2"},
		client.ZRange(t.Context(), lua.DueIndex, 0, -1).Val())
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	work, err := s.Due(t.Context(), channels, false)
	require.NoError(t, err)
	require.Len(t, work, 3)
}
