package multi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

func TestRequestsThatCannotBeDecidedAreRefused(t *testing.T) {
	t.Parallel()
	minute := ratelimit.Window{Limit: 1, Per: time.Minute}
	usual := fixed(1, time.Minute)
	shadow, aligned := usual, usual
	shadow.Shadow = true
	aligned.Strategy.Anchor = ratelimit.Aligned
	tier := ratelimit.LevelSpec{Name: "x", Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow}, Windows: []ratelimit.Window{minute}}
	for fault, r := range map[string]ratelimit.Request{
		"the strategy gcra is not supported; use fixed-window (anchor first) or per-second": request("1", 1, level(ratelimit.GCRA, minute)),

		"the strategy sliding-log is not supported":                    request("1", 1, level("", minute)),
		"the strategy fixed-window (anchor aligned) is not supported":  request("1", 1, aligned),
		"a window of per-second is 1 s long, not 1m0s":                 request("1", 1, level(multi.PerSecond, minute)),
		"shadow levels need scripts":                                   request("1", 1, shadow),
		"fairness and headroom need scripts":                           {ID: "1", Levels: []ratelimit.Level{usual}, Headroom: 1},
		"id has 0 bytes":                                               request("", 1, usual),
		"-1 units asked for":                                           request("1", -1, usual),
		"it has no levels":                                             request("1", 1),
		"it has no windows":                                            request("1", 1, level(ratelimit.FixedWindow)),
		"a limit of -1 is not valid":                                   request("1", 1, fixed(-1, time.Minute)),
		"a window of 1µs is not valid":                                 request("1", 1, fixed(1, time.Microsecond)),
		"two windows have the length 1m0s":                             request("1", 1, level(ratelimit.FixedWindow, minute, minute)),
		`level "x": it has no limit group; set the group, or the chan`: request("1", 1, levelOf(tier, "")),
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, err := multi.NewMemory(nil, multi.Options{}).Admit(t.Context(), []ratelimit.Request{r})
			require.ErrorIs(t, err, ratelimit.ErrRequest)
			require.ErrorContains(t, err, fault)
		})
	}
}
