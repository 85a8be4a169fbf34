package multi_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

func onRedis(t *testing.T) (*multi.Limiter, *redis.Client) {
	t.Helper()
	client := redistest.Start(t).Client()
	return multi.New(client, multi.Options{IDs: "relay:{alerts}:ids"}), client
}

func TestARealServerNeedsNoScript(t *testing.T) {
	t.Parallel()
	l, client := onRedis(t)
	hour := fixed(3, time.Hour)
	one := func(id string) ratelimit.Request { return request(id, 1, hour) }
	require.Equal(t, "+=+-", outcomes(t, l, one("1"), one("1"), one("2"), request("3", 2, hour)))
	require.Equal(t, "+-", outcomes(t, l, one("4"), one("5")), "what was refused was taken back")
	require.Equal(t, "=", outcomes(t, l, one("2")))
	require.Equal(t, int64(3), used(t, l, hour))
	require.NotContains(t, client.Info(t.Context(), "commandstats").Val(), "cmdstat_eval")
}

// Whatever happens, no key is left without a TTL, and none is anything but a string.
func TestEveryKeyEnds(t *testing.T) {
	t.Parallel()
	l, client := onRedis(t)
	hour := fixed(3, time.Hour)
	second := level(multi.PerSecond, ratelimit.Window{Limit: 2, Per: time.Second})
	for i := range 20 {
		outcomes(t, l, request(fmt.Sprint("a", i), 1, hour, second), request(fmt.Sprint("b", i), 5, hour))
	}
	keys := client.Keys(t.Context(), "*").Val()
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.Positive(t, client.PTTL(t.Context(), key).Val(), key)
		require.Equal(t, "string", client.Type(t.Context(), key).Val(), key)
	}
}

// late takes a window away between the two steps of a call.
type late struct {
	redis.Hook
	client *redis.Client
	key    string
}

func (h late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h late) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			if command.Name() == "decrby" {
				h.client.Del(ctx, h.key)
			}
		}
		return next(ctx, commands)
	}
}

func TestUnitsTakenBackFromAWindowThatEndedLeaveNoDebt(t *testing.T) {
	t.Parallel()
	_, client := onRedis(t)
	hour := fixed(1, time.Hour)
	key := hour.Key + ":3600000"
	hooked := redis.NewClient(client.Options())
	t.Cleanup(func() { _ = hooked.Close() })
	hooked.AddHook(late{client: client, key: key})
	l := multi.New(hooked, multi.Options{})
	require.Equal(t, "+--", outcomes(t, l, request("1", 1, hour), request("2", 1, hour), request("3", 1, hour)))
	require.Equal(t, "0", client.Get(t.Context(), key).Val())
	require.Positive(t, client.PTTL(t.Context(), key).Val())
}

func TestAKeyOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	l, client := onRedis(t)
	hour := fixed(1, time.Hour)
	require.NoError(t, client.RPush(t.Context(), hour.Key+":3600000", "x").Err())
	_, err := l.Admit(t.Context(), []ratelimit.Request{request("1", 1, hour)})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorContains(t, err, "WRONGTYPE")
}

// A fixed window admits up to 2L - 1 in less than its length: 19 of 10 around the end of one.
func TestTheWorstCaseIsTwiceTheLimitLessOne(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		minute := fixed(10, time.Minute)
		n := 0
		ask := func(times int) (admitted int) {
			for range times {
				n++
				if outcomes(t, b.Limiter, request(fmt.Sprint(n), 1, minute)) == "+" {
					admitted++
				}
			}
			return admitted
		}
		require.Equal(t, 1, ask(1))
		b.advance(time.Minute - 31*time.Millisecond)
		within := ask(20)
		b.advance(62 * time.Millisecond)
		require.Equal(t, 19, within+ask(20), "within 62 ms")
	})
}

func TestManySendersNeverExceedAWindow(t *testing.T) {
	t.Parallel()
	l, _ := onRedis(t)
	hour := fixed(100, time.Hour)
	var all sync.WaitGroup
	var mu sync.Mutex
	admitted := int64(0)
	for g := range 100 {
		all.Go(func() {
			for i := range 5 {
				decisions, err := l.Admit(context.WithoutCancel(t.Context()), []ratelimit.Request{request(fmt.Sprintf("%d-%d", g, i), 1, hour)})
				if err != nil {
					t.Error(err)
					return
				}
				if outcomeOf(decisions[0]) == "+" {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, admitted, int64(100))
	require.Positive(t, admitted)
	require.Equal(t, admitted, used(t, l, hour), "all that was refused was taken back")
}

func TestAnIDThatAnotherCallDecidesIsUnavailable(t *testing.T) {
	t.Parallel()
	l, client := onRedis(t)
	hour := fixed(2, time.Hour)
	require.NoError(t, client.Set(t.Context(), "relay:{alerts}:ids:1", "pending", time.Minute).Err())
	_, err := l.Admit(t.Context(), []ratelimit.Request{request("1", 1, hour)})
	require.ErrorIs(t, err, ratelimit.ErrUnavailable)
	require.ErrorContains(t, err, "id 1 is being decided by another call")
}

func TestRefusedUnitsNearTheEndOfAWindowStayCounted(t *testing.T) {
	t.Parallel()
	now := start
	var kept []int64
	l := multi.NewMemory(func() time.Time { return now }, multi.Options{
		UndoMargin: 10 * time.Second, Overshot: func(_ string, units int64) { kept = append(kept, units) },
	})
	minute := fixed(2, time.Minute)
	require.Equal(t, "+", outcomes(t, l, request("1", 1, minute)))
	require.Equal(t, "-", outcomes(t, l, request("2", 2, minute)))
	require.Equal(t, int64(1), used(t, l, minute))
	now = now.Add(55 * time.Second)
	require.Equal(t, "-", outcomes(t, l, request("3", 2, minute)))
	require.Equal(t, []int64{2}, kept)
	require.Equal(t, int64(3), used(t, l, minute))
}

func TestEndedCountersLeaveMemory(t *testing.T) {
	t.Parallel()
	now := start
	l := multi.NewMemory(func() time.Time { return now }, multi.Options{Dedupe: time.Second})
	for i := range 100_000 {
		now = now.Add(time.Millisecond)
		outcomes(t, l, request(fmt.Sprint(i), 1, fixed(1_000_000, time.Hour)))
	}
	require.Less(t, multi.Values(l), 5_000)
}
