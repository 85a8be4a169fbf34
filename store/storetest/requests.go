package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var requestsBehaviours = []behaviour{
	{"CategoriesMayHaveAnyName", testCategoriesMayHaveAnyName},
	{"RequestMayHaveThousandsOfUnits", testRequestMayHaveThousandsOfUnits},
	{"InvalidRequestsAreRejectedBeforeAnyWrite", testInvalidRequestsAreRejectedBeforeAnyWrite},
	{"ChannelWithoutAGroupHasItsOwnLimits", testChannelWithoutAGroupHasItsOwnLimits},
	{"UnitsAreAdmittedTogetherOrNotAtAll", testUnitsAreAdmittedTogetherOrNotAtAll},
}

// A new category needs no more than its one call, whatever its name is.
func testCategoriesMayHaveAnyName(t *testing.T, start Start) {
	b := start(t)
	for i, name := range []string{
		"", "{}", "a:b", "\"quoted\" \\ \n", "ünïcode ☃", "%00", string([]byte{0xff, 0xfe}),
		strings.Repeat("long", 1000),
	} {
		r := Limits{Channel: PerMinute(100), Category: PerMinute(1)}.Request(fmt.Sprint(i), name)
		require.Equal(t, "+", Outcomes(b.MustAdmit(t, r)), "%q", name)
		r.ID += "again"
		require.Equal(t, "-", Outcomes(b.MustAdmit(t, r)), "%q", name)
	}
}

// A request may be for more units than a command of Redis has arguments at most.
func testRequestMayHaveThousandsOfUnits(t *testing.T, start Start) {
	b := start(t)
	r := Limits{Channel: PerMinute(20_000), Category: PerMinute(15_000)}.Request("1", "a")
	r.N = 10_000
	d := b.AdmitOne(t, r)
	require.Equal(t, store.Admitted, d.Outcome)
	require.Equal(t, int64(10_000), d.Remaining[0].Free)
	require.Equal(t, int64(5_000), d.Remaining[1].Free)
	r.ID = "2"
	d = b.AdmitOne(t, r)
	require.Equal(t, "category", d.Level)
	require.Equal(t, time.Minute, d.RetryAfter)
	require.NoError(t, b.Refund(t.Context(), Scope, With(Limits{Channel: PerMinute(20_000), Category: PerMinute(15_000)}.Request("1", "a"),
		10_000)))
	require.Zero(t, b.Used(t, r.Levels[0]))
}

func testUnitsAreAdmittedTogetherOrNotAtAll(t *testing.T, start Start) {
	b := start(t)
	l := Limits{Channel: PerMinute(5), Category: PerMinute(4)}
	of := func(id string, n int64) store.Request {
		r := l.Request(id, "a")
		r.N = n
		return r
	}
	never := b.AdmitOne(t, of("1", 5))
	require.Equal(t, store.Never, never.Outcome)
	require.Equal(t, "category", never.Level)
	require.Negative(t, never.RetryAfter)
	require.Equal(t, "+-+-", Outcomes(b.MustAdmit(t, of("2", 3), of("3", 2), of("4", 1), of("5", 1))))
	require.Equal(t, int64(2), b.MustReport(t).Ledger.Dropped-1, "never counts as dropped")
}

func testInvalidRequestsAreRejectedBeforeAnyWrite(t *testing.T, start Start) {
	good := Limits{Channel: PerMinute(1), Category: PerMinute(1)}.Request("1", "a")
	with := func(change func(r *store.Request)) []store.Request {
		r := good
		change(&r)
		return []store.Request{good, r}
	}
	cases := map[string][]store.Request{
		"no requests":       nil,
		"too many requests": make([]store.Request, ratelimit.MaxBatch+1),
		"no id":             with(func(r *store.Request) { r.ID = "" }),
		"long id":           with(func(r *store.Request) { r.ID = "12345678901234567890123456789012345678901" }),
		"negative units":    with(func(r *store.Request) { r.N = -1 }),
		"no levels":         with(func(r *store.Request) { r.Levels = nil }),
		"no windows":        with(func(r *store.Request) { r.Levels = []ratelimit.Level{{Name: "x", Key: "k"}} }),
		"empty window": with(func(r *store.Request) {
			r.Levels = []ratelimit.Level{ChannelLevel("g", ratelimit.Window{Limit: 1})}
		}),
		"negative limit": with(func(r *store.Request) { r.Levels = []ratelimit.Level{ChannelLevel("g", PerMinute(-1))} }),
		"delayed":        with(func(r *store.Request) { r.Delayed = 1 }),
		"unknown kind":   with(func(r *store.Request) { r.Enqueue = &store.Enqueue{Kind: "letter"} }),
	}
	b := start(t)
	for name, requests := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := b.Admit(t.Context(), Scope, requests)
			require.ErrorIs(t, err, ratelimit.ErrRequest)
		})
	}
	require.Equal(t, store.Report{}, b.MustReport(t), "nothing may be written")
}

// Two channels without a group share nothing, and each of their levels must name the channel.
func testChannelWithoutAGroupHasItsOwnLimits(t *testing.T, start Start) {
	b := start(t)
	for _, channel := range []string{"x", "y"} {
		s := store.Channel{Name: channel}
		request := store.Request{
			Request: ratelimit.Request{
				ID: "same",
				Levels: []ratelimit.Level{
					ChannelLevel(channel, PerMinute(1)), Level(s, "category", "a", PerMinute(1)),
				},
			},
		}
		answer, err := b.Admit(t.Context(), s, []store.Request{request})
		require.NoError(t, err)
		require.Equal(t, store.Admitted, answer.Decisions[0].Outcome)
		request.Levels[0] = ChannelLevel("", PerMinute(1))
		_, err = b.Admit(t.Context(), s, []store.Request{request})
		require.ErrorIs(t, err, ratelimit.ErrRequest)
		require.ErrorContains(t, err, `level "channel" has no limit group`)
	}
}
