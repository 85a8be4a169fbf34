package storetest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

// Engines are the stores of this module, by name.
var Engines = map[string]Start{"memory": Memory, "redis": Redis}

// OnEvery runs a test on each of [Engines].
func OnEvery(t *testing.T, behaviour func(t *testing.T, b Fixture)) {
	t.Helper()
	for name, start := range Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, start(t))
		})
	}
}

// Memory starts a store in memory.
func Memory(testing.TB) Fixture {
	clock := &Clock{T: StartTime}
	data := memory.NewData(memory.DataOptions{Now: clock.Now})
	all := memoryData{data}
	last := memory.New(data, memory.Options{Options: store.Options{Owner: "c"}})
	return Fixture{
		Limiter:  last,
		A:        memory.New(data, memory.Options{Options: SenderA}),
		B:        memory.New(data, memory.Options{Options: SenderB}),
		C:        last,
		Clock:    clock.Now,
		Advance:  clock.Advance,
		Fresh:    func() Fixture { return Memory(nil) },
		Save:     all.save,
		Snapshot: all.all,
		Queued:   all.queued,
		DueIndex: func(testing.TB) map[string]int64 { return data.DueIndex() },
		Leave: func(_ require.TestingT, key string, units int64) {
			data.Do(func(tx *memory.Tx) {
				if b := memory.Look[ratelimit.BacklogQueue](tx, key); b != nil {
					b.Numbers = b.Numbers[units:]
				}
			})
		},
		Decisions: 5_000,
	}
}

// Redis starts a server, and a store on it.
func Redis(tb testing.TB) Fixture {
	tb.Helper()
	return onServer(tb, redistest.Start(tb).Client())
}

func onServer(tb testing.TB, client *redis.Client) Fixture {
	tb.Helper()
	clocked := redistest.NewClocked(tb, client, StartTime)
	all := redisData{client}
	sender := func(opts store.Options) *redisstore.Store {
		return redisstore.New(lossy{clocked}, redisstore.Options{Options: opts, Now: clocked.Now})
	}
	last := sender(store.Options{Owner: "c"})
	return Fixture{
		Limiter: last,
		A:       sender(SenderA),
		B:       sender(SenderB),
		C:       last,
		Clock:   clocked.Now,
		Advance: clocked.Advance,
		Fresh: func() Fixture {
			require.NoError(tb, client.FlushAll(tb.Context()).Err())
			return onServer(tb, client)
		},
		Save:     all.save,
		Snapshot: all.all,
		Queued:   all.queued,
		DueIndex: all.dueIndex,
		Leave: func(t require.TestingT, key string, units int64) {
			for range units {
				if strings.Contains(key, "backlog-list") {
					require.NoError(t, client.LPop(tb.Context(), key).Err())
					continue
				}
				oldest, err := client.XRangeN(tb.Context(), key, "-", "+", 1).Result()
				require.NoError(t, err)
				require.NoError(t, client.XDel(tb.Context(), key, oldest[0].ID).Err())
			}
		},
	}
}

// redisData is all that a server contains.
type redisData struct{ client *redis.Client }

func (d redisData) save(tb testing.TB) func() {
	tb.Helper()
	type kept struct {
		key, dump string
		ttl       time.Duration
	}
	var saved []kept
	for _, key := range d.keys(tb) {
		dump, err := d.client.Dump(tb.Context(), key).Result()
		if errors.Is(err, redis.Nil) {
			continue // it expired since it was listed
		}
		require.NoError(tb, err)
		saved = append(saved, kept{key, dump, max(0, d.client.PTTL(tb.Context(), key).Val())})
	}
	return func() {
		for _, key := range d.keys(tb) {
			require.NoError(tb, d.client.Del(tb.Context(), key).Err())
		}
		for _, k := range saved {
			require.NoError(tb, d.client.Restore(tb.Context(), k.key, k.ttl, k.dump).Err())
		}
	}
}

func (d redisData) keys(tb testing.TB) []string {
	tb.Helper()
	keys, err := d.client.Keys(tb.Context(), "relay:*").Result()
	require.NoError(tb, err)
	return keys
}

func (d redisData) all(tb testing.TB) any {
	tb.Helper()
	all, err := redistest.Dump(tb.Context(), d.client, "*")
	require.NoError(tb, err)
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.Contains(key, ":lease:") })
	return all
}

func (d redisData) dueIndex(tb testing.TB) map[string]int64 {
	tb.Helper()
	members, err := d.client.ZRangeWithScores(tb.Context(), lua.DueIndex, 0, -1).Result()
	require.NoError(tb, err)
	index := map[string]int64{}
	for _, m := range members {
		index[fmt.Sprint(m.Member)] = int64(m.Score)
	}
	return index
}

func (d redisData) queued(tb testing.TB, entry store.Entry) bool {
	tb.Helper()
	text := d.client.HGet(tb.Context(), Scope.Keys().Entries(), fmt.Sprint(entry.Number)).Val()
	return strings.HasPrefix(text, fmt.Sprint(entry.AdmittedAt, " "))
}
