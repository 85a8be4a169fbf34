package redis_test

import (
	"context"
	"fmt"
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
