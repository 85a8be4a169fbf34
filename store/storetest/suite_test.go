package storetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestSeedDemo(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(3)}
		var requests []store.Request
		for i := range 10 {
			requests = append(requests, l.Request(fmt.Sprint("same-body-", i), "errors"))
		}
		require.Equal(t, "+++-------", storetest.Outcomes(b.MustAdmit(t, requests...)))
		require.Equal(t, store.Ledger{Received: 10, Admitted: 3, Dropped: 7, Pending: 3}, b.MustReport(t).Ledger)
	})
}

func TestTwentyCategoriesOfTen(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(100), Category: storetest.PerMinute(10)}
		for round := range 10 {
			var requests []store.Request
			for c := range 20 {
				requests = append(requests, l.Request(fmt.Sprintf("%d-%d", c, round), fmt.Sprint("c", c)))
			}
			b.MustAdmit(t, requests...)
		}
		ledger := b.MustReport(t).Ledger
		require.Equal(t, store.Ledger{Received: 200, Admitted: 100, Dropped: 100, Pending: 100}, ledger)
		require.Zero(t, ledger.Imbalance())
	})
}

func TestARefusalSpendsNothing(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(3), Category: storetest.PerMinute(2)}
		require.Equal(t, "++---", storetest.Outcomes(b.MustAdmit(t,
			l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "a"), l.Request("4", "a"), l.Request("5", "a"))))
		require.Equal(t, "+--", storetest.Outcomes(b.MustAdmit(t, l.Request("6", "b"), l.Request("7", "b"), l.Request("8", "c"))))
		usage, err := store.UsageOf(t.Context(), b, storetest.Scope, []ratelimit.Level{
			store.NewChannelLevel(storetest.Scope.Group, l.Channel),
			store.NewLevel(storetest.Scope, "category", "a", l.Category),
			store.NewLevel(storetest.Scope, "category", "b", l.Category),
			store.NewLevel(storetest.Scope, "category", "c", l.Category),
		})
		require.NoError(t, err)
		used := []int64{usage[0].Used, usage[1].Used, usage[2].Used, usage[3].Used}
		require.Equal(t, []int64{3, 2, 1, 0}, used, "a refusal by one level must not burn the other")
	})
}

func TestTheRefusingLevelsAreNamed(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(2), Category: storetest.PerMinute(1)}
		b.MustAdmit(t, l.Request("1", "a"))
		d := b.AdmitOne(t, l.Request("2", "a"))
		require.Equal(t, "category", d.Level)
		b.MustAdmit(t, l.Request("3", "b"))
		d = b.AdmitOne(t, l.Request("4", "a"))
		require.Equal(t, "channel", d.Level, "the outermost where several refuse")
		require.Equal(t, []string{"channel", "category"}, d.Refused)
		require.Equal(t, []string{"channel"}, b.AdmitOne(t, l.Request("5", "c")).Refused)
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(2), Category: storetest.PerMinute(1)}
		b.MustAdmit(t, l.Request("1", "a"))
		b.Advance(10 * time.Second)
		b.MustAdmit(t, l.Request("2", "b"))
		b.Advance(5*time.Second + 7*time.Microsecond)

		d := b.AdmitOne(t, l.Request("3", "a"))
		require.Equal(t, 45*time.Second-7*time.Microsecond, d.RetryAfter)
		b.Advance(d.RetryAfter - time.Microsecond)
		require.Equal(t, time.Microsecond, b.AdmitOne(t, l.Request("3", "a")).RetryAfter)
		b.Advance(time.Microsecond)
		require.Equal(t, store.Admitted, b.AdmitOne(t, l.Request("3", "a")).Outcome)
		require.Equal(t, 10*time.Second, b.AdmitOne(t, l.Request("4", "b")).RetryAfter,
			"the maximum over the channel (10 s) and the category (10 s)")
	})
}

func TestTwoWindowsBothMustPass(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		level := store.NewLevel(storetest.Scope, "sender", "ci",
			ratelimit.Window{Limit: 2, Per: 5 * time.Second}, ratelimit.Window{Limit: 3, Per: 5 * time.Minute})
		request := func(id string) store.Request {
			return store.Request{ID: id, Levels: []ratelimit.Level{level}}
		}
		require.Equal(t, "++-", storetest.Outcomes(b.MustAdmit(t, request("1"), request("2"), request("3"))))
		b.Advance(5 * time.Second)
		require.Equal(t, store.Admitted, b.AdmitOne(t, request("4")).Outcome)
		b.Advance(5 * time.Second)
		require.Equal(t, 290*time.Second, b.AdmitOne(t, request("5")).RetryAfter)
		usage, err := store.UsageOf(t.Context(), b, storetest.Scope, []ratelimit.Level{level})
		require.NoError(t, err)
		require.Equal(t, []int64{0, 3}, []int64{usage[0].Used, usage[1].Used})
		require.Equal(t, []time.Duration{0, 290 * time.Second}, []time.Duration{usage[0].RetryAfter, usage[1].RetryAfter})
	})
}

func TestUnits(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(5), Category: storetest.PerMinute(4)}
		of := func(id string, n int64) store.Request {
			r := l.Request(id, "a")
			r.N = n
			return r
		}
		never := b.AdmitOne(t, of("1", 5))
		require.Equal(t, store.Never, never.Outcome)
		require.Equal(t, "category", never.Level)
		require.Negative(t, never.RetryAfter)
		require.Equal(t, "+-+-", storetest.Outcomes(b.MustAdmit(t, of("2", 3), of("3", 2), of("4", 1), of("5", 1))))
		require.Equal(t, int64(2), b.MustReport(t).Ledger.Dropped-1, "never counts as dropped")
	})
}

func TestDuplicatesAreFree(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(3), Category: storetest.PerMinute(3)}
		require.Equal(t, "+=+", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("1", "a"), l.Request("2", "a"))))
		b.Advance(30 * time.Second)
		require.Equal(t, "=", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"))))
		require.Equal(t, store.Ledger{Received: 4, Admitted: 2, Duplicate: 2, Pending: 2}, b.MustReport(t).Ledger)
	})
}

func TestADroppedIDMayComeAgain(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}
		require.Equal(t, "+-", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
		b.Advance(time.Minute)
		require.Equal(t, "+", storetest.Outcomes(b.MustAdmit(t, l.Request("2", "a"))))
	})
}

// A window longer than the dedupe time sees the same id twice: both must count.
func TestAnIDThatIsForgottenIsChargedAgain(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		long := ratelimit.Window{Limit: 2, Per: 6 * time.Hour}
		l := storetest.Limits{Channel: long, Category: long}
		b.MustAdmit(t, l.Request("1", "a"))
		b.Advance(time.Hour - time.Microsecond)
		require.Equal(t, "=", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"))))
		b.Advance(time.Microsecond)
		require.Equal(t, "+-", storetest.Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
		require.Equal(t, int64(2), b.MustReport(t).Ledger.Pending)
	})
}

func TestCategoriesOfADay(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(1)}
		b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "b"))
		b.Advance(2 * time.Hour)
		b.MustAdmit(t, l.Request("4", "a"))
		counts, err := b.Categories(t.Context(), storetest.Scope)
		require.NoError(t, err)
		require.Equal(t, []store.CategoryCounts{
			{Category: "a", Admitted: 2, Dropped: 1}, {Category: "b", Admitted: 1},
		}, counts)
		b.Advance(24 * time.Hour)
		counts, err = b.Categories(t.Context(), storetest.Scope)
		require.NoError(t, err)
		require.Equal(t, []store.CategoryCounts{{Category: "a", Admitted: 1}}, counts)
	})
}

func TestAtMostAThousandCategoriesAreCountedByName(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(5000), Category: storetest.PerMinute(1)}
		b.AdmitCategories(t, l, "c%04d", 1100)
		require.Equal(t, "-", storetest.Outcomes(b.MustAdmit(t, l.Request("again", "c1099"))), "admission uses the true category")
		require.Equal(t, "-", storetest.Outcomes(b.MustAdmit(t, l.Request("known", "c0007"))), "a known category keeps its name")
		counts, err := b.Categories(t.Context(), storetest.Scope)
		require.NoError(t, err)
		require.Len(t, counts, 1001)
		require.Equal(t, store.CategoryCounts{Category: "c0007", Admitted: 1, Dropped: 1}, counts[7])
		require.Equal(t, store.CategoryCounts{Category: "other", Admitted: 100, Dropped: 1}, counts[1000])
	})
}

func TestReportOfAnUnusedChannel(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		require.Equal(t, store.Report{}, b.MustReport(t))
		counts, err := b.Categories(t.Context(), storetest.Scope)
		require.NoError(t, err)
		require.Empty(t, counts)
	})
}

func TestTheAgeOfTheOldest(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(10), Category: storetest.PerMinute(10)}
		b.MustAdmit(t, l.Request("1", "a"))
		b.Advance(90 * time.Second)
		b.MustAdmit(t, l.Request("2", "a"))
		require.Equal(t, 90*time.Second, b.MustReport(t).Oldest)
	})
}

func TestChannelsOfAGroupShareTheOuterBudget(t *testing.T) {
	t.Parallel()
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		outer := store.NewChannelLevel("team", storetest.PerMinute(3))
		var got string
		for i := range 4 {
			s := store.Channel{Group: "team", Name: fmt.Sprint("ch-", i%2)}
			d, err := b.Admit(t.Context(), s, []store.Request{{
				ID: fmt.Sprint(i), Levels: []ratelimit.Level{outer, store.NewLevel(s, "category", "a", storetest.PerMinute(9))},
			}})
			require.NoError(t, err)
			got += storetest.Outcomes(d)
		}
		require.Equal(t, "+++-", got)
	})
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	good := storetest.Limits{Channel: storetest.PerMinute(1), Category: storetest.PerMinute(1)}.Request("1", "a")
	with := func(change func(r *store.Request)) []store.Request {
		r := good
		change(&r)
		return []store.Request{good, r}
	}
	cases := map[string][]store.Request{
		"no requests":       nil,
		"too many requests": make([]store.Request, store.MaxBatch+1),
		"no id":             with(func(r *store.Request) { r.ID = "" }),
		"long id":           with(func(r *store.Request) { r.ID = "12345678901234567890123456789012345678901" }),
		"negative units":    with(func(r *store.Request) { r.N = -1 }),
		"no levels":         with(func(r *store.Request) { r.Levels = nil }),
		"no windows":        with(func(r *store.Request) { r.Levels = []ratelimit.Level{{Name: "x", Key: "k"}} }),
		"empty window": with(func(r *store.Request) {
			r.Levels = []ratelimit.Level{store.NewChannelLevel("g", ratelimit.Window{Limit: 1})}
		}),
		"negative limit": with(func(r *store.Request) {
			r.Levels = []ratelimit.Level{store.NewChannelLevel("g", storetest.PerMinute(-1))}
		}),
		"unknown kind": with(func(r *store.Request) { r.Enqueue = &store.Enqueue{Kind: "letter"} }),
	}
	storetest.OnEvery(t, func(t *testing.T, b storetest.Fixture) {
		for name, requests := range cases {
			_, err := b.Admit(t.Context(), storetest.Scope, requests)
			require.ErrorIs(t, err, store.ErrRequest, name)
		}
		require.Equal(t, store.Report{}, b.MustReport(t), "nothing may be written")
	})
}

func TestManyGoroutinesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, l := range map[string]store.Limiter{
		"memory": memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}),
		"redis":  redisstore.New(server.Client(), redisstore.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 100, storetest.Hammer(t.Context(), t, l, 16, 40))
			report, err := l.Report(t.Context(), storetest.Scope)
			require.NoError(t, err)
			require.Equal(t, store.Ledger{Received: 640, Admitted: 100, Dropped: 540, Pending: 100}, report.Ledger)
		})
	}
}
