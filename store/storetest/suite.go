package storetest

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

const LargeEvent = 32 << 10

// large is a request with as long a message as is kept.
func (l Limits) Large(h *store.MessagePolicy, id, category string) store.Request {
	r := l.Told(h, id, category, "", "")
	r.Enqueue = &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `","text":"` + strings.Repeat("x", LargeEvent) + `"}`)}
	return r
}

// told is a request that is handled, of an alert with a fingerprint.
func (l Limits) Told(h *store.MessagePolicy, id, category string, status store.Status, fingerprint string) store.Request {
	r := l.Request(id, category)
	r.Policy = h
	r.Event = store.Event{Status: status, Fingerprint: fingerprint, Severity: "error", Title: "title " + id}
	return r
}

func OutcomesOf(decisions []store.Decision) []store.Outcome {
	all := make([]store.Outcome, len(decisions))
	for i, d := range decisions {
		all[i] = d.Outcome
	}
	return all
}

const (
	Admitted   = store.Admitted
	Dropped    = store.Dropped
	Merged     = store.Merged
	Delayed    = store.Delayed
	Suppressed = store.Suppressed
	Full       = store.Full
)

// usage is how many units of the channel are used.
func (b Fixture) Usage(t *testing.T, r store.Request) int64 {
	t.Helper()
	usage, err := store.UsageOf(t.Context(), b, Scope, r.Levels[:1])
	require.NoError(t, err)
	return usage[0].Used
}

var Small = Limits{Channel: PerMinute(10), Category: PerMinute(3)}

// deafClient reaches the server and, once deaf is set, no longer hears its answers: the call commits, the
// caller cannot know.
func DeafClient(t *testing.T, server *redistest.Server, deaf *atomic.Bool) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 200 * time.Millisecond,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return deafConn{conn, deaf}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.deaf.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// promised is the most that docs/strategies.md lets one window hold.
func Promised(tier ratelimit.LevelSpec) int64 {
	limit := tier.Windows[0].Limit
	switch tier.Strategy.Kind {
	case ratelimit.FixedWindow:
		if tier.Strategy.Anchor == ratelimit.Aligned {
			return 2 * limit
		}
		return 2*limit - 1
	case ratelimit.SlidingCounter:
		return 2 * limit
	case ratelimit.GCRA:
		return limit + tier.Strategy.Burst - 1
	default:
		return limit
	}
}

var Update = flag.Bool("update", false, "write the golden files anew")

// strategies are all strategies with a limit of 4 per 10 s.
var Strategies = []struct {
	Name     string
	Strategy ratelimit.Strategy
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

func (b Fixture) Used(t *testing.T, level ratelimit.Level) int64 {
	t.Helper()
	usage, err := store.UsageOf(t.Context(), b, Scope, []ratelimit.Level{level})
	require.NoError(t, err)
	return usage[0].Used
}

// bundle is one engine under test with a clock that the test moves.
type Fixture struct {
	store.Limiter
	Advance func(time.Duration)
	Clock   func() time.Time
	// leave takes the oldest units out of a backlog, as settling their entries would.
	leave func(t require.TestingT, key string, units int64)
	// forget empties the engine, where what is left of other histories would slow it down; nil = it does not.
	forget func()
}

func (b Fixture) Now() time.Time { return b.Clock() }

// clock is moved by the test, and read by whatever runs beside it.
type Clock struct {
	mu sync.Mutex
	T  time.Time
}

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.T
}

func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.T = c.T.Add(d)
}

var StartTime = time.UnixMicro(1_795_156_875_342_811)

// engines are what every behaviour is tried on.
var Engines = map[string]func(t testing.TB) Fixture{
	"memory": func(testing.TB) Fixture {
		c := &Clock{T: StartTime}
		data := memory.NewData(memory.DataOptions{Now: c.Now})
		return Fixture{
			Limiter: memory.New(data, memory.Options{Options: store.Options{Dedupe: time.Hour}}),
			Advance: c.Advance,
			Clock:   c.Now,
			leave: func(_ require.TestingT, key string, units int64) {
				data.Do(func(tx *memory.Tx) {
					if b := memory.Look[ratelimit.BacklogQueue](tx, key); b != nil {
						b.Numbers = b.Numbers[units:]
					}
				})
			},
		}
	},
	"redis": func(tb testing.TB) Fixture {
		tb.Helper()
		client := redistest.Start(tb).Client()
		clocked := redistest.NewClocked(tb, client, StartTime)
		return Fixture{
			Limiter: redisstore.New(clocked, redisstore.Options{Options: store.Options{Dedupe: time.Hour}, Now: clocked.Now}),
			Advance: clocked.Advance,
			Clock:   clocked.Now,
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
func OnEvery(t *testing.T, behaviour func(t *testing.T, b Fixture)) {
	t.Helper()
	for name, engine := range Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, engine(t))
		})
	}
}

var Scope = store.Channel{Group: "alerts", Name: "alerts"}

// limits are the windows of the two levels in most tests.
type Limits struct{ Channel, Category ratelimit.Window }

func (l Limits) Request(id, category string) store.Request {
	return store.Request{
		ID: id, Category: category,
		Levels: []ratelimit.Level{
			store.NewChannelLevel(Scope.Group, l.Channel),
			store.NewLevel(Scope, "category", category, l.Category),
		},
		Enqueue: &store.Enqueue{Kind: store.KindMessage, Payload: []byte(`{"id":"` + id + `"}`)},
	}
}

func PerMinute(limit int64) ratelimit.Window {
	return ratelimit.Window{Limit: limit, Per: time.Minute}
}

func (b Fixture) MustAdmit(t *testing.T, requests ...store.Request) []store.Decision {
	t.Helper()
	decisions, err := b.Admit(t.Context(), Scope, requests)
	require.NoError(t, err)
	require.Len(t, decisions, len(requests))
	return decisions
}

func (b Fixture) AdmitOne(t *testing.T, request store.Request) store.Decision {
	t.Helper()
	return b.MustAdmit(t, request)[0]
}

func (b Fixture) MustReport(t *testing.T) store.Report {
	t.Helper()
	report, err := b.Report(t.Context(), Scope)
	require.NoError(t, err)
	return report
}

func Outcomes(decisions []store.Decision) string {
	var s string
	for _, d := range decisions {
		s += map[store.Outcome]string{
			store.Admitted: "+", store.Dropped: "-", store.Duplicate: "=", store.Never: "!",
		}[d.Outcome]
	}
	return s
}

// admitCategories admits an event of each of so many categories, a multiple of 100.
func (b Fixture) AdmitCategories(t *testing.T, l Limits, name string, n int) {
	t.Helper()
	for batch := range n / 100 {
		var requests []store.Request
		for i := range 100 {
			category := fmt.Sprintf(name, batch*100+i)
			requests = append(requests, l.Request(category, category))
		}
		b.MustAdmit(t, requests...)
	}
}

// hammer admits from many goroutines at once and returns how many got through.
func Hammer(ctx context.Context, t *testing.T, l store.Limiter, goroutines, each int) int {
	t.Helper()
	lim := Limits{Channel: PerMinute(100), Category: PerMinute(10)}
	results := make(chan int, goroutines)
	for g := range goroutines {
		go func() {
			admitted := 0
			for i := range each {
				d, err := l.Admit(ctx, Scope, []store.Request{
					lim.Request(fmt.Sprintf("%d-%d", g, i), fmt.Sprint("c", (g+i)%20)),
				})
				if err == nil && d[0].Outcome == store.Admitted {
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

// with is a request for so many units.
func With(r store.Request, units int64) store.Request {
	r.N = units
	return r
}
