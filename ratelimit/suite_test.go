package ratelimit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/memstore"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
)

// bundle is one engine under test with a clock that the test moves.
type bundle struct {
	ratelimit.Limiter
	advance func(time.Duration)
	clock   func() time.Time
	// leave takes the oldest units out of a backlog, as settling their entries would.
	leave func(t require.TestingT, key string, units int64)
	// forget empties the engine, where what is left of other histories would slow it down; nil = it does not.
	forget func()
}

func (b bundle) now() time.Time { return b.clock() }

// clock is moved by the test, and read by whatever runs beside it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var start = time.UnixMicro(1_795_156_875_342_811)

// engines are what every behaviour is tried on.
var engines = map[string]func(t testing.TB) bundle{
	"memory": func(testing.TB) bundle {
		c := &clock{now: start}
		store := memstore.New(memstore.Options{Now: c.Now})
		return bundle{
			Limiter: ratelimit.NewMemory(store, time.Hour),
			advance: c.Advance,
			clock:   c.Now,
			leave: func(_ require.TestingT, key string, units int64) {
				store.Do(func(tx *memstore.Tx) {
					if b := memstore.Look[memstore.Backlog](tx, key); b != nil {
						b.Numbers = b.Numbers[units:]
					}
				})
			},
		}
	},
	"redis": func(tb testing.TB) bundle {
		tb.Helper()
		client := redistest.Start(tb).Client()
		clocked := redistest.NewClocked(tb, client, start)
		return bundle{
			Limiter: ratelimit.NewRedis(clocked, ratelimit.RedisOptions{Dedupe: time.Hour, Now: clocked.Now}),
			advance: clocked.Advance,
			clock:   clocked.Now,
			leave: func(t require.TestingT, key string, units int64) {
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
	},
}

// onEvery runs a behaviour on every engine.
func onEvery(t *testing.T, behaviour func(t *testing.T, b bundle)) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine(t))
		})
	}
}

var scope = ratelimit.Scope{Group: "alerts", Channel: "alerts"}

// limits are the windows of the two levels in most tests.
type limits struct{ channel, category ratelimit.Window }

func (l limits) request(id, category string) ratelimit.Request {
	return ratelimit.Request{
		ID: id, Category: category,
		Levels: []ratelimit.Level{
			ratelimit.Outer(scope.Group, l.channel),
			ratelimit.Inner(scope, "category", category, l.category),
		},
		Enqueue: &ratelimit.Enqueue{Kind: ratelimit.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
	}
}

func perMinute(limit int64) ratelimit.Window {
	return ratelimit.Window{Limit: limit, Per: time.Minute}
}

func (b bundle) admit(t *testing.T, requests ...ratelimit.Request) []ratelimit.Decision {
	t.Helper()
	decisions, err := b.Admit(t.Context(), scope, requests)
	require.NoError(t, err)
	require.Len(t, decisions, len(requests))
	return decisions
}

func (b bundle) one(t *testing.T, request ratelimit.Request) ratelimit.Decision {
	t.Helper()
	return b.admit(t, request)[0]
}

func (b bundle) report(t *testing.T) ratelimit.Report {
	t.Helper()
	report, err := b.Report(t.Context(), scope)
	require.NoError(t, err)
	return report
}

func outcomes(decisions []ratelimit.Decision) string {
	var s string
	for _, d := range decisions {
		s += map[ratelimit.Outcome]string{
			ratelimit.Admitted: "+", ratelimit.Dropped: "-", ratelimit.Duplicate: "=", ratelimit.Never: "!",
		}[d.Outcome]
	}
	return s
}

func TestSeedDemo(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(10), category: perMinute(3)}
		var requests []ratelimit.Request
		for i := range 10 {
			requests = append(requests, l.request(fmt.Sprint("same-body-", i), "errors"))
		}
		require.Equal(t, "+++-------", outcomes(b.admit(t, requests...)))
		require.Equal(t, ratelimit.Ledger{Received: 10, Admitted: 3, Dropped: 7, Pending: 3}, b.report(t).Ledger)
	})
}

func TestTwentyCategoriesOfTen(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(100), category: perMinute(10)}
		for round := range 10 {
			var requests []ratelimit.Request
			for c := range 20 {
				requests = append(requests, l.request(fmt.Sprintf("%d-%d", c, round), fmt.Sprint("c", c)))
			}
			b.admit(t, requests...)
		}
		ledger := b.report(t).Ledger
		require.Equal(t, ratelimit.Ledger{Received: 200, Admitted: 100, Dropped: 100, Pending: 100}, ledger)
		require.Zero(t, ledger.Imbalance())
	})
}

func TestARefusalSpendsNothing(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(3), category: perMinute(2)}
		require.Equal(t, "++---", outcomes(b.admit(t,
			l.request("1", "a"), l.request("2", "a"), l.request("3", "a"), l.request("4", "a"), l.request("5", "a"))))
		require.Equal(t, "+--", outcomes(b.admit(t, l.request("6", "b"), l.request("7", "b"), l.request("8", "c"))))
		usage, err := ratelimit.UsageOf(t.Context(), b, scope, []ratelimit.Level{
			ratelimit.Outer(scope.Group, l.channel),
			ratelimit.Inner(scope, "category", "a", l.category),
			ratelimit.Inner(scope, "category", "b", l.category),
			ratelimit.Inner(scope, "category", "c", l.category),
		})
		require.NoError(t, err)
		used := []int64{usage[0].Used, usage[1].Used, usage[2].Used, usage[3].Used}
		require.Equal(t, []int64{3, 2, 1, 0}, used, "a refusal by one level must not burn the other")
	})
}

func TestTheRefusingLevelsAreNamed(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(2), category: perMinute(1)}
		b.admit(t, l.request("1", "a"))
		d := b.one(t, l.request("2", "a"))
		require.Equal(t, "category", d.Level)
		b.admit(t, l.request("3", "b"))
		d = b.one(t, l.request("4", "a"))
		require.Equal(t, "channel", d.Level, "the outermost where several refuse")
		require.Equal(t, []string{"channel", "category"}, d.Refused)
		require.Equal(t, []string{"channel"}, b.one(t, l.request("5", "c")).Refused)
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(2), category: perMinute(1)}
		b.admit(t, l.request("1", "a"))
		b.advance(10 * time.Second)
		b.admit(t, l.request("2", "b"))
		b.advance(5*time.Second + 7*time.Microsecond)

		d := b.one(t, l.request("3", "a"))
		require.Equal(t, 45*time.Second-7*time.Microsecond, d.RetryAfter)
		b.advance(d.RetryAfter - time.Microsecond)
		require.Equal(t, time.Microsecond, b.one(t, l.request("3", "a")).RetryAfter)
		b.advance(time.Microsecond)
		require.Equal(t, ratelimit.Admitted, b.one(t, l.request("3", "a")).Outcome)
		require.Equal(t, 10*time.Second, b.one(t, l.request("4", "b")).RetryAfter,
			"the maximum over the channel (10 s) and the category (10 s)")
	})
}

func TestTwoWindowsBothMustPass(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		level := ratelimit.Inner(scope, "sender", "ci",
			ratelimit.Window{Limit: 2, Per: 5 * time.Second}, ratelimit.Window{Limit: 3, Per: 5 * time.Minute})
		request := func(id string) ratelimit.Request {
			return ratelimit.Request{ID: id, Levels: []ratelimit.Level{level}}
		}
		require.Equal(t, "++-", outcomes(b.admit(t, request("1"), request("2"), request("3"))))
		b.advance(5 * time.Second)
		require.Equal(t, ratelimit.Admitted, b.one(t, request("4")).Outcome)
		b.advance(5 * time.Second)
		require.Equal(t, 290*time.Second, b.one(t, request("5")).RetryAfter)
		usage, err := ratelimit.UsageOf(t.Context(), b, scope, []ratelimit.Level{level})
		require.NoError(t, err)
		require.Equal(t, []int64{0, 3}, []int64{usage[0].Used, usage[1].Used})
		require.Equal(t, []time.Duration{0, 290 * time.Second}, []time.Duration{usage[0].RetryAfter, usage[1].RetryAfter})
	})
}

func TestUnits(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(5), category: perMinute(4)}
		of := func(id string, n int64) ratelimit.Request {
			r := l.request(id, "a")
			r.N = n
			return r
		}
		never := b.one(t, of("1", 5))
		require.Equal(t, ratelimit.Never, never.Outcome)
		require.Equal(t, "category", never.Level)
		require.Negative(t, never.RetryAfter)
		require.Equal(t, "+-+-", outcomes(b.admit(t, of("2", 3), of("3", 2), of("4", 1), of("5", 1))))
		require.Equal(t, int64(2), b.report(t).Ledger.Dropped-1, "never counts as dropped")
	})
}

func TestDuplicatesAreFree(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(3), category: perMinute(3)}
		require.Equal(t, "+=+", outcomes(b.admit(t, l.request("1", "a"), l.request("1", "a"), l.request("2", "a"))))
		b.advance(30 * time.Second)
		require.Equal(t, "=", outcomes(b.admit(t, l.request("1", "a"))))
		require.Equal(t, ratelimit.Ledger{Received: 4, Admitted: 2, Duplicate: 2, Pending: 2}, b.report(t).Ledger)
	})
}

func TestADroppedIDMayComeAgain(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(1), category: perMinute(1)}
		require.Equal(t, "+-", outcomes(b.admit(t, l.request("1", "a"), l.request("2", "a"))))
		b.advance(time.Minute)
		require.Equal(t, "+", outcomes(b.admit(t, l.request("2", "a"))))
	})
}

// A window longer than the dedupe time sees the same id twice: both must count.
func TestAnIDThatIsForgottenIsChargedAgain(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		long := ratelimit.Window{Limit: 2, Per: 6 * time.Hour}
		l := limits{channel: long, category: long}
		b.admit(t, l.request("1", "a"))
		b.advance(time.Hour - time.Microsecond)
		require.Equal(t, "=", outcomes(b.admit(t, l.request("1", "a"))))
		b.advance(time.Microsecond)
		require.Equal(t, "+-", outcomes(b.admit(t, l.request("1", "a"), l.request("2", "a"))))
		require.Equal(t, int64(2), b.report(t).Ledger.Pending)
	})
}

func TestCategoriesOfADay(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(10), category: perMinute(1)}
		b.admit(t, l.request("1", "a"), l.request("2", "a"), l.request("3", "b"))
		b.advance(2 * time.Hour)
		b.admit(t, l.request("4", "a"))
		counts, err := b.Categories(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, []ratelimit.CategoryCounts{
			{Category: "a", Admitted: 2, Dropped: 1}, {Category: "b", Admitted: 1},
		}, counts)
		b.advance(24 * time.Hour)
		counts, err = b.Categories(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, []ratelimit.CategoryCounts{{Category: "a", Admitted: 1}}, counts)
	})
}

// admitCategories admits an event of each of so many categories, a multiple of 100.
func (b bundle) admitCategories(t *testing.T, l limits, name string, n int) {
	t.Helper()
	for batch := range n / 100 {
		var requests []ratelimit.Request
		for i := range 100 {
			category := fmt.Sprintf(name, batch*100+i)
			requests = append(requests, l.request(category, category))
		}
		b.admit(t, requests...)
	}
}

func TestAtMostAThousandCategoriesAreCountedByName(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(5000), category: perMinute(1)}
		b.admitCategories(t, l, "c%04d", 1100)
		require.Equal(t, "-", outcomes(b.admit(t, l.request("again", "c1099"))), "admission uses the true category")
		require.Equal(t, "-", outcomes(b.admit(t, l.request("known", "c0007"))), "a known category keeps its name")
		counts, err := b.Categories(t.Context(), scope)
		require.NoError(t, err)
		require.Len(t, counts, 1001)
		require.Equal(t, ratelimit.CategoryCounts{Category: "c0007", Admitted: 1, Dropped: 1}, counts[7])
		require.Equal(t, ratelimit.CategoryCounts{Category: "other", Admitted: 100, Dropped: 1}, counts[1000])
	})
}

func TestReportOfAnUnusedChannel(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		require.Equal(t, ratelimit.Report{}, b.report(t))
		counts, err := b.Categories(t.Context(), scope)
		require.NoError(t, err)
		require.Empty(t, counts)
	})
}

func TestTheAgeOfTheOldest(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		l := limits{channel: perMinute(10), category: perMinute(10)}
		b.admit(t, l.request("1", "a"))
		b.advance(90 * time.Second)
		b.admit(t, l.request("2", "a"))
		require.Equal(t, 90*time.Second, b.report(t).Oldest)
	})
}

func TestChannelsOfAGroupShareTheOuterBudget(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b bundle) {
		outer := ratelimit.Outer("team", perMinute(3))
		var got string
		for i := range 4 {
			s := ratelimit.Scope{Group: "team", Channel: fmt.Sprint("ch-", i%2)}
			d, err := b.Admit(t.Context(), s, []ratelimit.Request{{
				ID: fmt.Sprint(i), Levels: []ratelimit.Level{outer, ratelimit.Inner(s, "category", "a", perMinute(9))},
			}})
			require.NoError(t, err)
			got += outcomes(d)
		}
		require.Equal(t, "+++-", got)
	})
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	good := limits{channel: perMinute(1), category: perMinute(1)}.request("1", "a")
	with := func(change func(r *ratelimit.Request)) []ratelimit.Request {
		r := good
		change(&r)
		return []ratelimit.Request{good, r}
	}
	cases := map[string][]ratelimit.Request{
		"no requests":       nil,
		"too many requests": make([]ratelimit.Request, ratelimit.MaxBatch+1),
		"no id":             with(func(r *ratelimit.Request) { r.ID = "" }),
		"long id":           with(func(r *ratelimit.Request) { r.ID = "12345678901234567890123456789012345678901" }),
		"negative units":    with(func(r *ratelimit.Request) { r.N = -1 }),
		"no levels":         with(func(r *ratelimit.Request) { r.Levels = nil }),
		"no windows":        with(func(r *ratelimit.Request) { r.Levels = []ratelimit.Level{{Name: "x", Key: "k"}} }),
		"empty window": with(func(r *ratelimit.Request) {
			r.Levels = []ratelimit.Level{ratelimit.Outer("g", ratelimit.Window{Limit: 1})}
		}),
		"negative limit": with(func(r *ratelimit.Request) { r.Levels = []ratelimit.Level{ratelimit.Outer("g", perMinute(-1))} }),
		"unknown kind":   with(func(r *ratelimit.Request) { r.Enqueue = &ratelimit.Enqueue{Kind: "letter"} }),
	}
	onEvery(t, func(t *testing.T, b bundle) {
		for name, requests := range cases {
			_, err := b.Admit(t.Context(), scope, requests)
			require.ErrorIs(t, err, ratelimit.ErrRequest, name)
		}
		require.Equal(t, ratelimit.Report{}, b.report(t), "nothing may be written")
	})
}

// hammer admits from many goroutines at once and returns how many got through.
func hammer(ctx context.Context, t *testing.T, l ratelimit.Limiter, goroutines, each int) int {
	t.Helper()
	lim := limits{channel: perMinute(100), category: perMinute(10)}
	results := make(chan int, goroutines)
	for g := range goroutines {
		go func() {
			admitted := 0
			for i := range each {
				d, err := l.Admit(ctx, scope, []ratelimit.Request{
					lim.request(fmt.Sprintf("%d-%d", g, i), fmt.Sprint("c", (g+i)%20)),
				})
				if err == nil && d[0].Outcome == ratelimit.Admitted {
					admitted++
				}
			}
			results <- admitted
		}()
	}
	total := 0
	for range goroutines {
		total += <-results
	}
	return total
}

func TestManyGoroutinesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, l := range map[string]ratelimit.Limiter{
		"memory": ratelimit.NewMemory(memstore.New(memstore.Options{}), 0),
		"redis":  ratelimit.NewRedis(server.Client(), ratelimit.RedisOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 100, hammer(t.Context(), t, l, 16, 40))
			report, err := l.Report(t.Context(), scope)
			require.NoError(t, err)
			require.Equal(t, ratelimit.Ledger{Received: 640, Admitted: 100, Dropped: 540, Pending: 100}, report.Ledger)
		})
	}
}

// with is a request for so many units.
func with(r ratelimit.Request, units int64) ratelimit.Request {
	r.N = units
	return r
}
