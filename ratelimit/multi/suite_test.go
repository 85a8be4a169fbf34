package multi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
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

func level(kind ratelimit.StrategyKind, windows ...ratelimit.Window) ratelimit.Level {
	return levelOf(ratelimit.LevelSpec{Name: "channel", Strategy: ratelimit.Strategy{Kind: kind}, Windows: windows}, "alerts")
}

func levelOf(spec ratelimit.LevelSpec, group string) ratelimit.Level {
	return spec.At(lua.KeysOf(group, "").ChannelLimit(spec.Strategy.Tag()))
}

func fixed(limit int64, per time.Duration) ratelimit.Level {
	return level(ratelimit.FixedWindow, ratelimit.Window{Limit: limit, Per: per})
}

func request(id string, units int64, levels ...ratelimit.Level) ratelimit.Request {
	return ratelimit.Request{ID: id, N: units, Levels: levels}
}

// outcomes asks for requests and returns the outcome of each.
func outcomes(t *testing.T, l *multi.Limiter, requests ...ratelimit.Request) string {
	t.Helper()
	decisions, err := l.Admit(t.Context(), requests)
	require.NoError(t, err)
	var b strings.Builder
	for _, d := range decisions {
		b.WriteString(outcomeOf(d))
	}
	return b.String()
}

// outcomeOf returns a letter for a decision: + admitted, - dropped, = duplicate, ! never.
func outcomeOf(d ratelimit.Decision) string {
	switch {
	case d.Duplicate:
		return "="
	case len(d.Refused) == 0:
		return "+"
	case d.RetryAfter < 0:
		return "!"
	default:
		return "-"
	}
}

func used(t *testing.T, l *multi.Limiter, level ratelimit.Level) int64 {
	t.Helper()
	decisions, err := l.Peek(t.Context(), []ratelimit.Request{request("peek", 1, level)})
	require.NoError(t, err)
	d := decisions[0]
	if outcomeOf(d) == "+" {
		return d.Remaining[0].Used - 1
	}
	return d.Remaining[0].Used
}
