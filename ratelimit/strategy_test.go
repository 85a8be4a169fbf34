package ratelimit_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// strategies are all strategies with a limit of 4 per 10 s.
var strategies = []struct {
	name     string
	strategy ratelimit.Strategy
}{
	{"sliding-log", ratelimit.Strategy{}},
	{"sliding-buckets of 1 s", ratelimit.Strategy{Kind: ratelimit.SlidingBuckets, Bucket: time.Second}},
	{"fixed-window, first", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.First}},
	{"fixed-window, aligned", ratelimit.Strategy{Kind: ratelimit.FixedWindow, Anchor: ratelimit.Aligned}},
	{"sliding-counter", ratelimit.Strategy{Kind: ratelimit.SlidingCounter}},
	{"gcra, burst 2", ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 2}},
	{"gate", ratelimit.Strategy{Kind: ratelimit.Gate}},
	{"backlog, stream", ratelimit.Strategy{Kind: ratelimit.Backlog}},
	{"backlog, list", ratelimit.Strategy{Kind: ratelimit.Backlog, Queue: ratelimit.List}},
}

// The same events, to every strategy on every engine: when, how many units, and what comes out.
func TestGoldenTable(t *testing.T) {
	t.Parallel()
	const golden = "testdata/strategies.golden"
	want, err := os.ReadFile(golden)
	if !*update {
		require.NoError(t, err)
	}
	onEvery(t, func(t *testing.T, b bundle) {
		var table strings.Builder
		begin := b.now()
		for _, s := range strategies {
			b.advance(begin.Add(time.Hour).Truncate(time.Hour).Sub(b.now())) // the same grid for each
			begin = b.now()
			play(t, b, &table, s.name, ratelimit.Tier{
				Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{{Limit: 4, Per: 10 * time.Second}},
			})
		}
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(table.String()), 0o600))
			return
		}
		require.Equal(t, string(want), table.String())
	})
}

func play(t *testing.T, b bundle, table *strings.Builder, name string, tier ratelimit.Tier) {
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
		b.advance(event.after)
		at += event.after
		d := b.one(t, ratelimit.Request{
			ID: fmt.Sprint(name, i), N: event.units, Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, "golden "+name)},
		})
		r := d.Remaining[0]
		fmt.Fprintf(table, "%8s  %5d  %-9s  %4d  %4d  %s\n", at, event.units, d.Outcome, r.Used, r.Units, d.RetryAfter)
	}
	table.WriteString("\n")
}

func (b bundle) used(t *testing.T, level ratelimit.Level) int64 {
	t.Helper()
	usage, err := ratelimit.UsageOf(t.Context(), b, scope, []ratelimit.Level{level})
	require.NoError(t, err)
	return usage[0].Used
}

func TestARefundGivesBackOnce(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		for _, s := range strategies[:7] {
			tier := ratelimit.Tier{Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{{Limit: 4, Per: time.Hour}}}
			level := ratelimit.ChannelLevel(tier, "refund "+s.name)
			request := func(id string) ratelimit.Request {
				return ratelimit.Request{ID: s.name + id, Levels: []ratelimit.Level{level}}
			}
			b.admit(t, request("1"))
			b.advance(time.Second)
			require.NoError(t, b.Refund(t.Context(), scope, request("unheard of")), s.name)
			require.Equal(t, int64(1), b.used(t, level), s.name)
			for range 3 {
				require.NoError(t, b.Refund(t.Context(), scope, request("1")), s.name)
				require.LessOrEqual(t, b.used(t, level), int64(1), s.name)
			}
			b.advance(20 * time.Minute) // a gate and a bucket may have drained in part
			require.Equal(t, "=+", outcomes(b.admit(t, request("1"), request("2"))), "%s: the id stays remembered", s.name)
		}
	})
}

func TestResetEmptiesALevel(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(10), category: perMinute(1)}
		require.Equal(t, "+-", outcomes(b.admit(t, l.request("1", "a"), l.request("2", "a"))))
		require.NoError(t, b.Reset(t.Context(), ratelimit.Inner(scope, "category", "a", l.category)))
		require.Equal(t, "+", outcomes(b.admit(t, l.request("3", "a"))))
		require.Equal(t, int64(2), b.used(t, ratelimit.Outer(scope.Group, l.channel)), "the other level is left alone")
	})
}

func TestAShadowLevelReportsAndNeverRefuses(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		shadow := ratelimit.Tier{Name: "sender", Shadow: true, Windows: []ratelimit.Window{perMinute(1)}}
		request := func(id string) ratelimit.Request {
			return ratelimit.Request{ID: id, Levels: []ratelimit.Level{ratelimit.Outer(scope.Group, perMinute(2)), ratelimit.LevelOf(shadow, scope, "ci")}}
		}
		d := b.admit(t, request("1"), request("2"), request("3"))
		require.Equal(t, "++-", outcomes(d))
		require.Equal(t, [][]string{nil, {"sender"}, {"sender"}}, [][]string{d[0].Shadow, d[1].Shadow, d[2].Shadow})
		require.Equal(t, []string{"channel"}, d[2].Refused)
		require.Equal(t, int64(1), b.used(t, ratelimit.LevelOf(shadow, scope, "ci")), "it is charged with what it would have admitted")
	})
}

func TestPeekSpendsAndCountsNothing(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(1), category: perMinute(1)}
		for range 3 {
			d, err := b.Peek(t.Context(), scope, []ratelimit.Request{l.request("1", "a"), l.request("2", "b")})
			require.NoError(t, err)
			require.Equal(t, "++", outcomes(d), "each by itself")
		}
		require.Equal(t, ratelimit.Report{}, b.report(t))
		b.admit(t, l.request("1", "a"))
		d, err := b.Peek(t.Context(), scope, []ratelimit.Request{l.request("1", "a"), l.request("2", "b")})
		require.NoError(t, err)
		require.Equal(t, "=-", outcomes(d))
		require.Equal(t, time.Minute, d[1].RetryAfter)
	})
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(3), category: perMinute(2)}
		var left [][]int64
		for _, d := range b.admit(t, l.request("1", "a"), l.request("2", "a"), l.request("3", "a"), l.request("4", "b")) {
			require.Equal(t, []string{"channel", "category"}, []string{d.Remaining[0].Level, d.Remaining[1].Level})
			left = append(left, []int64{d.Remaining[0].Units, d.Remaining[1].Units})
		}
		require.Equal(t, [][]int64{{2, 1}, {1, 0}, {1, 0}, {0, 1}}, left)
	})
}

// A clock that goes back never lets a window hold more than its limit, and what lies far ahead is moved, so
// that it throttles one window too long at most.
func TestTimeGoesBack(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		for _, s := range strategies[:7] {
			tier := ratelimit.Tier{Name: "channel", Strategy: s.strategy, Windows: []ratelimit.Window{perMinute(4)}}
			n := 0
			ask := func() ratelimit.Decision {
				n++
				return b.one(t, ratelimit.Request{ID: fmt.Sprint(s.name, n), Levels: []ratelimit.Level{ratelimit.ChannelLevel(tier, "back "+s.name)}})
			}
			for ask().Outcome == ratelimit.Admitted {
				continue
			}
			b.advance(-time.Hour)
			d := ask()
			require.Equal(t, ratelimit.Dropped, d.Outcome, s.name)
			require.LessOrEqual(t, d.RetryAfter, time.Minute+time.Second, s.name)
			b.advance(d.RetryAfter)
			require.Equal(t, ratelimit.Admitted, ask().Outcome, s.name)
			b.advance(2 * time.Hour)
		}
	})
}

func TestAStepIsReported(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	clocked := redistest.NewClocked(t, client, start)
	var steps []string
	b := bundle{Limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{
		Now: clocked.Now, Stepped: func(channel string, by time.Duration) { steps = append(steps, fmt.Sprint(channel, " ", by)) },
	})}
	l := limits{channel: perMinute(1), category: perMinute(1)}
	b.admit(t, l.request("1", "a"))
	clocked.Advance(-4 * time.Second)
	require.Equal(t, 64*time.Second, b.one(t, l.request("2", "a")).RetryAfter, "a small step is waited for")
	require.Empty(t, steps)
	clocked.Advance(-time.Hour)
	require.Equal(t, time.Minute, b.one(t, l.request("2", "a")).RetryAfter)
	require.Equal(t, []string{"alerts 1h0m4s"}, steps)
	require.Equal(t, time.Minute, b.one(t, l.request("2", "a")).RetryAfter)
	require.Len(t, steps, 1, "a step is moved and told once")
}

func TestDoRunsOnlyWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l, ran := limits{channel: perMinute(5), category: perMinute(1)}, 0
		run := func(r ratelimit.Request) error {
			return ratelimit.Do(t.Context(), b, scope, r, func(context.Context) error {
				ran++
				return errors.New("from f")
			})
		}
		require.EqualError(t, run(l.request("1", "a")), "from f")
		require.NoError(t, run(l.request("1", "a")), "a duplicate is not run again")
		var limited *ratelimit.LimitedError
		require.ErrorAs(t, run(l.request("2", "a")), &limited)
		require.Equal(t, &ratelimit.LimitedError{Level: "category", Window: perMinute(1), RetryAfter: time.Minute}, limited)
		require.EqualError(t, limited, "limited by category, 1 per 1m0s: retry after 1m0s")
		big := l.request("3", "a")
		big.N = 2
		require.EqualError(t, run(big), "limited by category: it can never fit into 1 per 1m0s")
		require.Equal(t, 1, ran)
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	b := bundle{Limiter: ratelimit.NewRedis(redistest.Start(t).Client(), ratelimit.RedisOptions{})}
	short := ratelimit.Window{Limit: 1, Per: 100 * time.Millisecond}
	l := limits{channel: short, category: short}
	begin := time.Now()
	for i := range 3 {
		require.NoError(t, ratelimit.Wait(t.Context(), b, scope, l.request(fmt.Sprint(i), "a")))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.Equal(t, ratelimit.Ledger{Received: 3, Admitted: 3, Pending: 3}, b.report(t).Ledger, "waiting counts no drops")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	long := limits{channel: perMinute(1), category: perMinute(1)}
	b.admit(t, long.request("first", "b"))
	err := ratelimit.Wait(ctx, b, scope, long.request("second", "b"))
	var limited *ratelimit.LimitedError
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, &limited)
	never := long.request("third", "c")
	never.N = 2
	require.ErrorAs(t, ratelimit.Wait(t.Context(), b, scope, never), &limited)
	require.Negative(t, limited.RetryAfter)
}

// A window that was lengthened counts too little until it has filled once.
func TestWarming(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		warming := func(minutes int) []time.Duration {
			tiers := []ratelimit.Tier{
				{Name: "channel", Windows: []ratelimit.Window{{Limit: 1, Per: time.Duration(minutes) * time.Minute}, {Limit: 1, Per: time.Second}}},
				{Name: "category", Windows: []ratelimit.Window{{Limit: 1, Per: time.Minute}}},
			}
			w, err := b.Warming(t.Context(), scope, tiers)
			require.NoError(t, err)
			return w
		}
		require.Equal(t, []time.Duration{0, 0}, warming(5), "there is nothing that it could miss")
		require.Equal(t, []time.Duration{0, 0}, warming(3), "a shorter one has all it needs")
		b.advance(time.Hour)
		require.Equal(t, []time.Duration{10 * time.Minute, 0}, warming(10))
		b.advance(4 * time.Minute)
		require.Equal(t, []time.Duration{6 * time.Minute, 0}, warming(10))
		b.advance(6 * time.Minute)
		require.Equal(t, []time.Duration{0, 0}, warming(10))
	})
}
