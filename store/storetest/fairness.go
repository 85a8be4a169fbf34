package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

var fairnessBehaviours = []behaviour{
	{"HeadroomLeavesItsShareFree", testHeadroomLeavesItsShareFree},
	{"RequestsOfACallHaveTheSameFairness", testRequestsOfACallHaveTheSameFairness},
}

// A request that may use only a share of the channel's limit leaves the rest free, rounded up.
func testHeadroomLeavesItsShareFree(t *testing.T, start Start) {
	for _, row := range []struct {
		limit int64
		share float64
		fit   int64
	}{
		{10, 0.5, 5}, {10, 0.55, 5}, {10, 0.2, 2}, {10, 1, 10}, {10, 1.5, 10}, {10, 0, 0}, {10, -0.5, 0}, {3, 0.5, 1},
	} {
		t.Run(fmt.Sprint(row.share, " of ", row.limit), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			l := Limits{Channel: PerMinute(row.limit), Category: PerMinute(100)}
			admitted := int64(0)
			for i := range row.limit {
				r := l.Request(fmt.Sprint(i), "a")
				r.Headroom = ratelimit.Headroom(row.limit, row.share)
				if b.AdmitOne(t, r).Outcome == store.Admitted {
					admitted++
				}
			}
			require.Equal(t, row.fit, admitted)
		})
	}
}

// Requests may share a call where nothing is reserved, or where the same is.
func testRequestsOfACallHaveTheSameFairness(t *testing.T, start Start) {
	disk, cpu := Level(Scope, "category", "disk", Small.Category), Level(Scope, "category", "cpu", Small.Category)
	reserve := func(category string, slots int64, level ratelimit.Level) *ratelimit.Fairness {
		return &ratelimit.Fairness{Reserves: []ratelimit.Reserve{{Category: category, Slots: slots, Level: level}}}
	}
	first := func(slots int64) *ratelimit.Fairness {
		return &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Slots: slots, PerCategory: 1}}
	}
	for name, row := range map[string]struct {
		one, other *ratelimit.Fairness
		isSame     bool
	}{
		"none":                    {nil, nil, true},
		"none and an empty one":   {nil, &ratelimit.Fairness{}, true},
		"an empty one and none":   {&ratelimit.Fairness{}, nil, true},
		"none and first notices":  {nil, first(1), false},
		"first notices and none":  {first(1), nil, false},
		"none and a reserve":      {nil, reserve("disk", 1, disk), false},
		"none and learned ones":   {nil, &ratelimit.Fairness{FirstNotice: ratelimit.FirstNotice{Auto: true}}, false},
		"equal first notices":     {first(1), first(1), true},
		"other first notices":     {first(1), first(2), false},
		"equal reserves":          {reserve("disk", 1, disk), reserve("disk", 1, disk), true},
		"reserves of other sizes": {reserve("disk", 1, disk), reserve("disk", 2, disk), false},
		"of other categories":     {reserve("disk", 1, disk), reserve("cpu", 1, disk), false},
		"of other levels":         {reserve("disk", 1, disk), reserve("disk", 1, cpu), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			one, other := Small.Request("1", "disk"), Small.Request("2", "disk")
			one.Fairness, other.Fairness = row.one, row.other
			_, err := b.Admit(t.Context(), Scope, []store.Request{one, other})
			if row.isSame {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.ErrorContains(t, err, "fairness differs from that of request 0")
		})
	}
}
