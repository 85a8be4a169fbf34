package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var admissionBehaviours = []behaviour{
	{"ResetEmptiesALevel", testResetEmptiesALevel},
	{"ShadowLevelReportsAndNeverRefuses", testShadowLevelReportsAndNeverRefuses},
	{"PeekSpendsAndCountsNothing", testPeekSpendsAndCountsNothing},
	{"RemainingIsReportedOfEveryWindow", testRemainingIsReportedOfEveryWindow},
	{"DoRunsOnlyWhatIsAdmitted", testDoRunsOnlyWhatIsAdmitted},
	{"TenEventsOfOneCategoryFillItsLimit", testTenEventsOfOneCategoryFillItsLimit},
	{"ChannelLimitBoundsTwentyCategories", testChannelLimitBoundsTwentyCategories},
	{"RefusalSpendsNothing", testRefusalSpendsNothing},
	{"RefusingLevelsAreNamed", testRefusingLevelsAreNamed},
	{"RetryAfterIsExact", testRetryAfterIsExact},
	{"BothWindowsOfALevelMustPass", testBothWindowsOfALevelMustPass},
	{"ChannelsOfAGroupShareTheChannelLevel", testChannelsOfAGroupShareTheChannelLevel},
	{"GoroutinesAdmitExactlyTheLimit", testGoroutinesAdmitExactlyTheLimit},
}

func testResetEmptiesALevel(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(1)}
	require.Equal(t, "+-", Outcomes(b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"))))
	require.NoError(t, b.Reset(t.Context(), Scope, Level(Scope, "category", "a", l.Category)))
	require.Equal(t, "+", Outcomes(b.MustAdmit(t, l.Request("3", "a"))))
	require.Equal(t, int64(2), b.Used(t, ChannelLevel(Scope.Group, l.Channel)), "the other level is left alone")
}

func testShadowLevelReportsAndNeverRefuses(t *testing.T, start Start) {
	b := start(t)
	shadow := ratelimit.LevelSpec{Name: "sender", Shadow: true, Windows: []ratelimit.Window{PerMinute(1)}}
	request := func(id string) store.Request {
		return store.Request{
			Request: ratelimit.Request{
				ID:     id,
				Levels: []ratelimit.Level{ChannelLevel(Scope.Group, PerMinute(2)), store.LevelOf(shadow, Scope, "ci")},
			},
		}
	}
	d := b.MustAdmit(t, request("1"), request("2"), request("3"))
	require.Equal(t, "++-", Outcomes(d))
	require.Equal(t, [][]string{nil, {"sender"}, {"sender"}}, [][]string{d[0].Shadow, d[1].Shadow, d[2].Shadow})
	require.Equal(t, []string{"channel"}, d[2].Refused)
	require.Equal(t, int64(1), b.Used(t, store.LevelOf(shadow, Scope, "ci")), "it is charged with what it would have admitted")
}

func testPeekSpendsAndCountsNothing(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(1), Category: PerMinute(1)}
	for range 3 {
		answer, err := b.Peek(t.Context(), Scope, []store.Request{l.Request("1", "a"), l.Request("2", "b")})
		require.NoError(t, err)
		require.Equal(t, "++", Outcomes(answer.Decisions), "each by itself")
	}
	require.Equal(t, store.Report{}, b.MustReport(t))
	b.MustAdmit(t, l.Request("1", "a"))
	answer, err := b.Peek(t.Context(), Scope, []store.Request{l.Request("1", "a"), l.Request("2", "b")})
	require.NoError(t, err)
	require.Equal(t, "=-", Outcomes(answer.Decisions))
	require.Equal(t, time.Minute, answer.Decisions[1].RetryAfter)
}

func testRemainingIsReportedOfEveryWindow(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(3), Category: PerMinute(2)}
	var left [][]int64
	for _, d := range b.MustAdmit(t, l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "a"), l.Request("4", "b")) {
		require.Equal(t, "channel", d.Remaining[0].Level)
		require.Equal(t, "category", d.Remaining[1].Level)
		left = append(left, []int64{d.Remaining[0].Free, d.Remaining[1].Free})
	}
	require.Equal(t, [][]int64{{2, 1}, {1, 0}, {1, 0}, {0, 1}}, left)
}

func testDoRunsOnlyWhatIsAdmitted(t *testing.T, start Start) {
	b := start(t)
	l, ran := Limits{Channel: PerMinute(5), Category: PerMinute(1)}, 0
	run := func(r store.Request) error {
		return ratelimit.Do(t.Context(), store.LimiterOf(b, Scope), r.Request, func(context.Context) error {
			ran++
			return errors.New("from f")
		})
	}
	require.EqualError(t, run(l.Request("1", "a")), "from f")
	require.NoError(t, run(l.Request("1", "a")), "a duplicate is not run again")
	var limited *ratelimit.LimitedError
	require.ErrorAs(t, run(l.Request("2", "a")), &limited)
	require.Equal(t, &ratelimit.LimitedError{Level: "category", Window: PerMinute(1), RetryAfter: time.Minute}, limited)
	require.EqualError(t, limited, "limited by category, 1 per 1m0s: retry after 1m0s")
	big := l.Request("3", "a")
	big.N = 2
	require.EqualError(t, run(big), "limited by category: it can never fit into 1 per 1m0s")
	require.Equal(t, 1, ran)
}

func testTenEventsOfOneCategoryFillItsLimit(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(10), Category: PerMinute(3)}
	var requests []store.Request
	for i := range 10 {
		requests = append(requests, l.Request(fmt.Sprint("same-body-", i), "errors"))
	}
	require.Equal(t, "+++-------", Outcomes(b.MustAdmit(t, requests...)))
	require.Equal(t, store.Ledger{Received: 10, Admitted: 3, Dropped: 7, Pending: 3}, b.MustReport(t).Ledger)
}

func testChannelLimitBoundsTwentyCategories(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(100), Category: PerMinute(10)}
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
}

func testRefusalSpendsNothing(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(3), Category: PerMinute(2)}
	require.Equal(t, "++---", Outcomes(b.MustAdmit(t,
		l.Request("1", "a"), l.Request("2", "a"), l.Request("3", "a"), l.Request("4", "a"), l.Request("5", "a"))))
	require.Equal(t, "+--", Outcomes(b.MustAdmit(t, l.Request("6", "b"), l.Request("7", "b"), l.Request("8", "c"))))
	usage, err := store.UsageOf(t.Context(), b, Scope, []ratelimit.Level{
		ChannelLevel(Scope.Group, l.Channel),
		Level(Scope, "category", "a", l.Category),
		Level(Scope, "category", "b", l.Category),
		Level(Scope, "category", "c", l.Category),
	})
	require.NoError(t, err)
	used := []int64{usage[0].Used, usage[1].Used, usage[2].Used, usage[3].Used}
	require.Equal(t, []int64{3, 2, 1, 0}, used, "a refusal by one level must not burn the other")
}

func testRefusingLevelsAreNamed(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(2), Category: PerMinute(1)}
	b.MustAdmit(t, l.Request("1", "a"))
	d := b.AdmitOne(t, l.Request("2", "a"))
	require.Equal(t, "category", d.Level)
	b.MustAdmit(t, l.Request("3", "b"))
	d = b.AdmitOne(t, l.Request("4", "a"))
	require.Equal(t, "channel", d.Level, "the outermost where several refuse")
	require.Equal(t, []string{"channel", "category"}, d.Refused)
	require.Equal(t, []string{"channel"}, b.AdmitOne(t, l.Request("5", "c")).Refused)
}

func testRetryAfterIsExact(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(2), Category: PerMinute(1)}
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
}

func testBothWindowsOfALevelMustPass(t *testing.T, start Start) {
	b := start(t)
	level := Level(Scope, "sender", "ci",
		ratelimit.Window{Limit: 2, Per: 5 * time.Second}, ratelimit.Window{Limit: 3, Per: 5 * time.Minute})
	request := func(id string) store.Request {
		return store.Request{Request: ratelimit.Request{ID: id, Levels: []ratelimit.Level{level}}}
	}
	require.Equal(t, "++-", Outcomes(b.MustAdmit(t, request("1"), request("2"), request("3"))))
	b.Advance(5 * time.Second)
	require.Equal(t, store.Admitted, b.AdmitOne(t, request("4")).Outcome)
	b.Advance(5 * time.Second)
	require.Equal(t, 290*time.Second, b.AdmitOne(t, request("5")).RetryAfter)
	usage, err := store.UsageOf(t.Context(), b, Scope, []ratelimit.Level{level})
	require.NoError(t, err)
	require.Equal(t, int64(0), usage[0].Used)
	require.Equal(t, int64(3), usage[1].Used)
	require.Equal(t, time.Duration(0), usage[0].RetryAfter)
	require.Equal(t, 290*time.Second, usage[1].RetryAfter)
}

func testChannelsOfAGroupShareTheChannelLevel(t *testing.T, start Start) {
	b := start(t)
	outer := ChannelLevel("team", PerMinute(3))
	var got strings.Builder
	for i := range 4 {
		s := store.Channel{Group: "team", Name: fmt.Sprint("ch-", i%2)}
		answer, err := b.Admit(t.Context(), s, []store.Request{{
			Request: ratelimit.Request{
				ID:     fmt.Sprint(i),
				Levels: []ratelimit.Level{outer, Level(s, "category", "a", PerMinute(9))},
			},
		}})
		require.NoError(t, err)
		got.WriteString(Outcomes(answer.Decisions))
	}
	require.Equal(t, "+++-", got.String())
}
