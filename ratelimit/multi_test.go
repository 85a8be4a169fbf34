package ratelimit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// multiEngines have a clock that moves what ends by itself, too: that of a real server cannot be set.
var multiEngines = map[string]func(tb testing.TB) bundle{
	"memory": func(testing.TB) bundle {
		c := &clock{now: start.Truncate(time.Millisecond)}
		return bundle{
			Limiter: ratelimit.NewMultiMemory(memstore.New(memstore.Options{Now: c.Now}), alwaysUndo),
			advance: c.Advance, clock: c.Now,
		}
	},
	"miniredis": func(tb testing.TB) bundle {
		tb.Helper()
		server := miniredis.RunT(tb)
		c := &clock{now: start.Truncate(time.Millisecond)}
		server.SetTime(c.Now())
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
		tb.Cleanup(func() { _ = client.Close() })
		return bundle{
			Limiter: ratelimit.NewMulti(client, alwaysUndo),
			clock:   c.Now,
			forget:  server.FlushAll,
			advance: func(d time.Duration) {
				c.Advance(d)
				server.FastForward(d)
				server.SetTime(c.Now())
			},
		}
	},
}

// alwaysUndo is for a clock that stands still between the two steps of a call.
var alwaysUndo = ratelimit.MultiOptions{UndoMargin: time.Nanosecond}

var multiWorlds = map[string]world{
	"fixed-window": {strategies: both(ratelimit.Strategy{Kind: ratelimit.FixedWindow}), multi: true, retry: true},
	"per-second":   {strategies: both(ratelimit.Strategy{Kind: ratelimit.PerSecond}), multi: true, retry: true},
}

func TestMultiAgainstTheOracle(t *testing.T) {
	t.Parallel()
	onEveryWorld(t, multiEngines, multiWorlds)
}

// multiLevel is a level of the engine multi.
func multiLevel(kind ratelimit.StrategyKind, windows ...ratelimit.Window) ratelimit.Level {
	return ratelimit.Tier{Name: "channel", Strategy: ratelimit.Strategy{Kind: kind}, Windows: windows}.Outer("multi")
}

func multiOn(t *testing.T, server *redistest.Server) bundle {
	t.Helper()
	return bundle{Limiter: ratelimit.NewMulti(server.Client(), ratelimit.MultiOptions{})}
}

// On a real server: the whole of it, without a single script.
func TestMultiWithoutScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := multiOn(t, server)
	level := multiLevel(ratelimit.FixedWindow, ratelimit.Window{Limit: 3, Per: time.Hour})
	request := func(id string) ratelimit.Request {
		return ratelimit.Request{
			ID: id, Category: "a", Levels: []ratelimit.Level{level},
			Enqueue: &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: []byte(id)},
		}
	}
	require.Equal(t, "+=+-", outcomes(b.admit(t, request("1"), request("1"), request("2"), with(request("3"), 2))))
	require.Equal(t, "+-", outcomes(b.admit(t, request("4"), request("5"))), "what was refused was taken back")
	require.Equal(t, "=", outcomes(b.admit(t, request("2"))))
	require.Equal(t, ratelimit.Ledger{Received: 7, Admitted: 3, Dropped: 2, Duplicate: 2, Pending: 3}, b.report(t).Ledger)
	require.Equal(t, int64(3), b.used(t, level))
	counts, err := b.Categories(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, []ratelimit.CategoryCounts{{Category: "a", Admitted: 3, Dropped: 2}}, counts)
	require.NoError(t, b.Ping(t.Context()))
	require.NoError(t, b.Reset(t.Context(), level))
	require.Equal(t, "+", outcomes(b.admit(t, request("6"))))
	for _, key := range server.Client().Keys(t.Context(), "relay:*:limit:*").Val() {
		require.Positive(t, server.Client().PTTL(t.Context(), key).Val(), "%s ends", key)
	}
	require.NotContains(t, server.Client().Info(t.Context(), "commandstats").Val(), "cmdstat_eval")
}

func with(r ratelimit.Request, units int64) ratelimit.Request {
	r.N = units
	return r
}

// A fixed window holds up to 2L - 1 in less than its length: 19 of 10 around the end of one.
func TestTheWorstOfMulti(t *testing.T) {
	t.Parallel()
	for name, engine := range multiEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := engine(t)
			level := multiLevel(ratelimit.FixedWindow, perMinute(10))
			n := 0
			ask := func(times int) (admitted int) {
				for range times {
					n++
					if b.one(t, ratelimit.Request{ID: fmt.Sprint(n), Levels: []ratelimit.Level{level}}).Outcome == ratelimit.Admitted {
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
}

func TestManySendersOnMulti(t *testing.T) {
	t.Parallel()
	b := multiOn(t, redistest.Start(t))
	level := multiLevel(ratelimit.FixedWindow, ratelimit.Window{Limit: 100, Per: time.Hour})
	var all sync.WaitGroup
	for g := range 100 {
		all.Go(func() {
			for i := range 5 {
				_, err := b.Admit(context.WithoutCancel(t.Context()), scope, []ratelimit.Request{
					{ID: fmt.Sprintf("%d-%d", g, i), Levels: []ratelimit.Level{level}},
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	ledger := b.report(t).Ledger
	require.LessOrEqual(t, ledger.Admitted, int64(100), "it never exceeds the limit of a window")
	require.Positive(t, ledger.Admitted)
	require.Equal(t, int64(500), ledger.Received)
	require.Equal(t, ledger.Admitted, b.used(t, level), "all that was refused was taken back")
}

func TestWhatMultiDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, engine := range multiEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := engine(t)
			ask := func(level ratelimit.Level, headroom int64) error {
				_, err := b.Admit(t.Context(), scope, []ratelimit.Request{{ID: "1", Levels: []ratelimit.Level{level}, Headroom: headroom}})
				return err
			}
			shadow := multiLevel(ratelimit.FixedWindow, perMinute(1))
			shadow.Shadow = true
			require.ErrorContains(t, ask(multiLevel(ratelimit.SlidingLog, perMinute(1)), 0), "knows the strategies fixed-window (anchor first) and per-second, not sliding-log")
			require.ErrorContains(t, ask(multiLevel(ratelimit.PerSecond, perMinute(1)), 0), "is 1 s long")
			require.ErrorContains(t, ask(shadow, 0), "no shadow levels")
			require.ErrorContains(t, ask(multiLevel(ratelimit.FixedWindow, perMinute(1)), 1), "headroom needs a sliding log")
			require.Equal(t, ratelimit.Report{}, b.report(t), "nothing was written")
		})
	}
	_, err := ratelimit.NewMemory(memstore.New(memstore.Options{}), 0).Admit(t.Context(), scope, []ratelimit.Request{
		{ID: "1", Levels: []ratelimit.Level{multiLevel(ratelimit.PerSecond, ratelimit.Window{Limit: 1, Per: time.Second})}},
	})
	require.ErrorIs(t, err, ratelimit.ErrRequest, "per-second is of the engine multi only")
}

// What the engine multi drops is recorded, and noted for the digest, as on the others.
func TestMultiRecordsDrops(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]func(tb testing.TB) bundle{
		"memory": multiEngines["memory"],
		"redis":  func(tb testing.TB) bundle { tb.Helper(); return multiOn(t, redistest.Start(tb)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := engine(t)
			h := &ratelimit.Handling{Overflow: "drop", Resolves: "post", Digest: true, Drops: 2}
			level := multiLevel(ratelimit.FixedWindow, ratelimit.Window{Limit: 1, Per: time.Minute})
			for i := range 4 {
				b.one(t, ratelimit.Request{
					ID: fmt.Sprint(i), Category: "c", Handling: h, Levels: []ratelimit.Level{level},
					Event:   ratelimit.Event{Severity: "error", Title: "title"},
					Enqueue: &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: fmt.Appendf(nil, `{"id":"%d"}`, i)},
				})
			}
			drops, err := b.Drops(t.Context(), scope, "", 10)
			require.NoError(t, err)
			require.Len(t, drops, 2, "as many as are kept")
			require.Equal(t, []any{`{"id":"3"}`, "channel", int64(1)}, []any{string(drops[0].Payload), drops[0].Level, drops[0].Limit})
			older, err := b.Drops(t.Context(), scope, drops[0].ID, 10)
			require.NoError(t, err)
			require.Equal(t, drops[1:], older)
		})
	}
}
