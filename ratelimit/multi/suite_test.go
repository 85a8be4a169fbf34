package multi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
	"slackrelay/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a limiter under test, with a clock that the test moves; what ends by itself follows that clock.
type bundle struct {
	*multi.Limiter
	now     func() time.Time
	advance func(time.Duration)
	// forget empties it, where what is left of other histories would slow it down.
	forget func()
}

var start = time.UnixMilli(1_795_156_875_342)

// alwaysUndo is for a clock that stands still between the two steps of a call.
var alwaysUndo = multi.Options{UndoMargin: time.Nanosecond}

// engines have a clock that a real server does not offer: miniredis stands for it.
var engines = map[string]func(tb testing.TB) bundle{
	"memory": func(testing.TB) bundle {
		now := start
		clock := func() time.Time { return now }
		return bundle{
			Limiter: multi.NewMemory(clock, alwaysUndo), now: clock,
			advance: func(d time.Duration) { now = now.Add(d) }, forget: func() {},
		}
	},
	"miniredis": func(tb testing.TB) bundle {
		tb.Helper()
		server := miniredis.RunT(tb)
		now := start
		server.SetTime(now)
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
		tb.Cleanup(func() { _ = client.Close() })
		return bundle{
			Limiter: multi.New(client, alwaysUndo), forget: server.FlushAll,
			now: func() time.Time { return now },
			advance: func(d time.Duration) {
				now = now.Add(d)
				server.FastForward(d)
				server.SetTime(now)
			},
		}
	},
}

func onEvery(t *testing.T, behaviour func(t *testing.T, b bundle)) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine(t))
		})
	}
}

var scope = store.Channel{Group: "alerts", Name: "alerts"}

func level(kind ratelimit.StrategyKind, windows ...ratelimit.Window) ratelimit.Level {
	return store.ChannelLevel(ratelimit.LevelSpec{Name: "channel", Strategy: ratelimit.Strategy{Kind: kind}, Windows: windows}, scope.Group)
}

func fixed(limit int64, per time.Duration) ratelimit.Level {
	return level(ratelimit.FixedWindow, ratelimit.Window{Limit: limit, Per: per})
}

func request(id string, units int64, levels ...ratelimit.Level) store.Request {
	return store.Request{ID: id, N: units, Levels: levels}
}

// outcomes asks for requests and returns a letter for each: + admitted, - dropped, = duplicate, ! never.
func outcomes(t *testing.T, l *multi.Limiter, requests ...store.Request) string {
	t.Helper()
	decisions, err := l.Admit(t.Context(), scope, requests)
	require.NoError(t, err)
	var b strings.Builder
	for _, d := range decisions {
		b.WriteString(map[store.Outcome]string{
			store.Admitted: "+", store.Dropped: "-", store.Duplicate: "=", store.Never: "!",
		}[d.Outcome])
	}
	return b.String()
}

func used(t *testing.T, l *multi.Limiter, level ratelimit.Level) int64 {
	t.Helper()
	decisions, err := l.Peek(t.Context(), scope, []store.Request{request("peek", 1, level)})
	require.NoError(t, err)
	d := decisions[0]
	if d.Outcome == store.Admitted {
		return d.Remaining[0].Used - 1
	}
	return d.Remaining[0].Used
}
