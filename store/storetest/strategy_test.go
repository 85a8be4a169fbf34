package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// The same events, to every strategy on every engine: when, how many units, and what comes out.
func TestGoldenTable(t *testing.T) {
	t.Parallel()
	const golden = "testdata/strategies.golden"
	want, err := os.ReadFile(golden)
	if !*storetest.Update {
		require.NoError(t, err)
	}
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		var table strings.Builder
		begin := b.Now()
		for _, s := range storetest.Strategies {
			b.Advance(begin.Add(time.Hour).Truncate(time.Hour).Sub(b.Now())) // the same grid for each
			begin = b.Now()
			play(t, b, &table, s.Name, ratelimit.LevelSpec{
				Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: 10 * time.Second}},
			})
		}
		if *storetest.Update {
			require.NoError(t, os.WriteFile(golden, []byte(table.String()), 0o600))
			return
		}
		require.Equal(t, string(want), table.String())
	})
}

func play(t *testing.T, b storetest.Fixture, table *strings.Builder, name string, tier ratelimit.LevelSpec) {
	t.Helper()
	fmt.Fprintf(table, "%s, 4 per 10 s\n      at  units  outcome    used  left  retry after\n", name)
	var at time.Duration
	for i, event := range []struct {
		after time.Duration
		units int64
	}{
		{8 * time.Second, 1},
		{300 * time.Millisecond, 2},
		{700 * time.Millisecond, 1},
		{0, 1},
		{500 * time.Millisecond, 5},
		{time.Second, 1},
		{2500 * time.Millisecond, 2},
		{4 * time.Second, 1},
		{1500 * time.Millisecond, 3},
		{20 * time.Second, 2},
	} {
		b.Advance(event.after)
		at += event.after
		d := b.AdmitOne(t, store.Request{
			ID: fmt.Sprint(name, i), N: event.units, Levels: []ratelimit.Level{store.ChannelLevel(tier, "golden "+name)},
		})
		r := d.Remaining[0]
		fmt.Fprintf(table, "%8s  %5d  %-9s  %4d  %4d  %s\n", at, event.units, d.Outcome, r.Used, r.Free, d.RetryAfter)
	}
	table.WriteString("\n")
}

func TestARefundGivesBackOnce(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for _, s := range storetest.Strategies[:7] {
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 4, Per: time.Hour}}}
			level := store.ChannelLevel(tier, "refund "+s.Name)
			request := func(id string) store.Request {
				return store.Request{ID: s.Name + id, Levels: []ratelimit.Level{level}}
			}
			b.MustAdmit(t, request("1"))
			b.Advance(time.Second)
			require.NoError(t, b.Refund(t.Context(), storetest.Scope, request("unheard of")), s.Name)
			require.Equal(t, int64(1), b.Used(t, level), s.Name)
			for range 3 {
				require.NoError(t, b.Refund(t.Context(), storetest.Scope, request("1")), s.Name)
				require.LessOrEqual(t, b.Used(t, level), int64(1), s.Name)
			}
			b.Advance(20 * time.Minute) // a gate and a bucket may have drained in part
			require.Equal(t, "=+", storetest.Outcomes(b.MustAdmit(t, request("1"), request("2"))), "%s: the id stays remembered", s.Name)
		}
	})
}

func TestResetEmptiesALevel(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(1)}
		require.Equal(t, "+-", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
		require.NoError(t, b.Reset(t.Context(), store.NewLevel(storetest.Scope, "category", "a", l.Category)))
		require.Equal(t, "+", storetest.Outcomes(b.MustAdmit(t, l.Request("3", "a"))))
		require.Equal(t, int64(2), b.Used(t, store.NewChannelLevel(storetest.Scope.Group, l.Channel)), "the other level is left alone")
	})
}

func TestAShadowLevelReportsAndNeverRefuses(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		shadow := ratelimit.LevelSpec{Name: "sender", Shadow: true, Windows: []ratelimit.Window{storetest.PerMinute(1)}}
		request := func(id string) store.Request {
			return store.Request{ID: id, Levels: []ratelimit.Level{store.NewChannelLevel(storetest.Scope.Group, storetest.PerMinute(2)), store.LevelOf(shadow, storetest.Scope, "ci")}}
		}
		d := b.MustAdmit(t, request("1"), request("2"), request("3"))
		require.Equal(t, "++-", storetest.Outcomes(d))
		require.Equal(t, [][]string{nil, {"sender"}, {"sender"}}, [][]string{d[0].Shadow, d[1].Shadow, d[2].Shadow})
		require.Equal(t, []string{"channel"}, d[2].Refused)
		require.Equal(t, int64(1), b.Used(t, store.LevelOf(shadow, storetest.Scope, "ci")), "it is charged with what it would have admitted")
	})
}

func TestPeekSpendsAndCountsNothing(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		for range 3 {
			d, err := b.Peek(t.Context(), storetest.Scope, []store.Request{l.Request("1", "a"), l.Request("2", "b")})
			require.NoError(t, err)
			require.Equal(t, "++", storetest.Outcomes(d), "each by itself")
		}
		require.Equal(t, store.Report{}, b.MustReport(t))
		b.MustAdmit(t, l.Request("1", "a"))
		d, err := b.Peek(t.Context(), storetest.Scope, []store.Request{l.Request("1", "a"), l.Request("2", "b")})
		require.NoError(t, err)
		require.Equal(t, "=-", storetest.Outcomes(d))
		require.Equal(t, time.Minute, d[1].RetryAfter)
	})
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(3), Category: storetest.PerMinute(2)}
		var left [][]int64
		for _, d := range b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "a"), l.Request("4", "b")) {
			require.Equal(t, []string{"channel", "category"}, []string{d.Remaining[0].Level, d.Remaining[1].Level})
			left = append(left, []int64{d.Remaining[0].Free, d.Remaining[1].Free})
		}
		require.Equal(t, [][]int64{{2, 1}, {1, 0}, {1, 0}, {0, 1}}, left)
	})
}

// A clock that goes back never lets a window hold more than its limit, and what lies far ahead is moved, so
// that it throttles one window too long at most.
func TestTimeGoesBack(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for _, s := range storetest.Strategies[:7] {
			tier := ratelimit.LevelSpec{Name: "channel", Strategy: s.Strategy, Windows: []ratelimit.Window{storetest.PerMinute(4)}}
			n := 0
			ask := func() store.Decision {
				n++
				return b.AdmitOne(t, store.Request{ID: fmt.Sprint(s.Name, n), Levels: []ratelimit.Level{store.ChannelLevel(tier, "back "+s.Name)}})
			}
			for ask().Outcome == store.Admitted {
				continue
			}
			b.Advance(-time.Hour)
			d := ask()
			require.Equal(t, store.Dropped, d.Outcome, s.Name)
			require.LessOrEqual(t, d.RetryAfter, time.Minute+time.Second, s.Name)
			b.Advance(d.RetryAfter)
			require.Equal(t, store.Admitted, ask().Outcome, s.Name)
			b.Advance(2 * time.Hour)
		}
	})
}

func TestAStepIsReported(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	clocked := redistest.NewClocked(t, client, storetest.StartTime)
	var steps []string
	b := storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{
		Now: clocked.Now, ClockStepped: func(channel string, by time.Duration) { steps = append(steps, fmt.Sprint(channel, " ", by)) },
	})}
	l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	b.MustAdmit(t, l.Request("1", "a"))
	clocked.Advance(-4 * time.Second)
	require.Equal(t, 64*time.Second, b.AdmitOne(t, l.Request("2", "a")).RetryAfter, "a small step is waited for")
	require.Empty(t, steps)
	clocked.Advance(-time.Hour)
	require.Equal(t, time.Minute, b.AdmitOne(t, l.Request("2", "a")).RetryAfter)
	require.Equal(t, []string{"alerts 1h0m4s"}, steps)
	require.Equal(t, time.Minute, b.AdmitOne(t, l.Request("2", "a")).RetryAfter)
	require.Len(t, steps, 1, "a step is moved and told once")
}

func TestDoRunsOnlyWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l, ran := storetest.Limits{Channel: storetest.PerMinute(5), Category: storetest.PerMinute(1)}, 0
		run := func(r store.Request) error {
			return store.Do(t.Context(), b, storetest.Scope, r, func(context.Context) error {
				ran++
				return errors.New("from f")
			})
		}
		require.EqualError(t, run(l.Request("1", "a")), "from f")
		require.NoError(t, run(l.Request("1", "a")), "a duplicate is not run again")
		var limited *store.LimitedError
		require.ErrorAs(t, run(l.Request("2", "a")), &limited)
		require.Equal(t, &store.LimitedError{Level: "category", Window: storetest.PerMinute(1), RetryAfter: time.Minute}, limited)
		require.EqualError(t, limited, "limited by category, 1 per 1m0s: retry after 1m0s")
		big := l.Request("3", "a")
		big.N = 2
		require.EqualError(t, run(big), "limited by category: it can never fit into 1 per 1m0s")
		require.Equal(t, 1, ran)
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	b := storetest.Fixture{Limiter: redisstore.New(redistest.Start(t).Client(), redisstore.Options{})}
	short := ratelimit.Window{Limit: 1, Per: 100 * time.Millisecond}
	l := storetest.Limits{Channel: short, Category: short}
	begin := time.Now()
	for i := range 3 {
		require.NoError(t, store.Wait(t.Context(), b, storetest.Scope, l.Request(fmt.Sprint(i), "a")))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.Equal(t, store.Ledger{Received: 3, Admitted: 3, Pending: 3}, b.MustReport(t).Ledger, "waiting counts no drops")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	long := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
	b.MustAdmit(t, long.Request("first", "b"))
	err := store.Wait(ctx, b, storetest.Scope, long.Request("second", "b"))
	var limited *store.LimitedError
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, &limited)
	never := long.Request("third", "c")
	never.N = 2
	require.ErrorAs(t, store.Wait(t.Context(), b, storetest.Scope, never), &limited)
	require.Negative(t, limited.RetryAfter)
}

// A window that was lengthened counts too little until it has filled once.
func TestWarming(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		warming := func(minutes int) []time.Duration {
			tiers := []ratelimit.LevelSpec{
				{Name: "channel", Windows: []ratelimit.Window{{Limit: 1, Per: time.Duration(minutes) * time.Minute}, {Limit: 1, Per: time.Second}}},
				{Name: "category", Windows: []ratelimit.Window{{Limit: 1, Per: time.Minute}}},
			}
			w, err := b.Warming(t.Context(), storetest.Scope, tiers)
			require.NoError(t, err)
			return w
		}
		require.Equal(t, []time.Duration{0, 0}, warming(5), "there is nothing that it could miss")
		require.Equal(t, []time.Duration{0, 0}, warming(3), "a shorter one has all it needs")
		b.Advance(time.Hour)
		require.Equal(t, []time.Duration{10 * time.Minute, 0}, warming(10))
		b.Advance(4 * time.Minute)
		require.Equal(t, []time.Duration{6 * time.Minute, 0}, warming(10))
		b.Advance(6 * time.Minute)
		require.Equal(t, []time.Duration{0, 0}, warming(10))
	})
}
