package simulation

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/events"
	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

func channel(global, category int64, window time.Duration, strategy ratelimit.StrategyKind) pipeline.Channel {
	tier := func(name string, limit int64) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{
			Name:     name,
			Strategy: ratelimit.Strategy{Kind: strategy},
			Windows:  []ratelimit.Window{{Limit: limit, Per: window}},
		}
	}
	return pipeline.Channel{
		Name:  "alerts",
		Tiers: []ratelimit.LevelSpec{tier(ratelimit.LevelChannel, global), tier(ratelimit.LevelCategory, category)}, Pace: store.Pace{Burst: 1},
	}
}

func noProgress(int) {}

func TestTwentyCategoriesOfTenEventsFillTheChannelExactly(t *testing.T) {
	t.Parallel()
	var trace Trace
	for i := range 200 {
		trace = append(trace, Event{At: time.Duration(i) * time.Second, Category: fmt.Sprintf("c%02d", i%20)})
	}
	r, err := Play(t.Context(), trace, Setting{Name: "plain", Channel: channel(100, 10, 30*time.Minute, "")}, noProgress)
	require.NoError(t, err)
	require.Equal(t, int64(200), r.Received)
	require.Equal(t, int64(100), r.Sent)
	require.Equal(t, int64(100), r.Dropped)
	require.Len(t, r.Categories, 20)
	require.Equal(t, int64(5), r.Categories[0].Sent)
	require.Zero(t, *r.Categories[0].FirstNoticeDelay)
	require.InDelta(t, 80, r.Categories[0].LongestSilence, 0, "from its 6th event to its last")
}

func TestFirstNoticeDelayAndLongestSilenceAreMeasured(t *testing.T) {
	t.Parallel()
	at := func(seconds int, category string) Event {
		return Event{At: time.Duration(seconds) * time.Second, Category: category}
	}
	trace := Trace{at(0, "a"), at(10, "b"), at(20, "b"), at(60, "b"), at(70, "c"), at(80, "b"), {At: 81 * time.Second, Category: "b", ID: "x"}}
	trace = append(trace, Event{At: 200 * time.Second, Category: "b", ID: "x"}, Event{At: 201 * time.Second, Category: "b", ID: "x"})
	r, err := Play(t.Context(), trace, Setting{Name: "one a minute", Channel: channel(1, 1, time.Minute, "")}, noProgress)
	require.NoError(t, err)
	require.Equal(t, int64(9), r.Received)
	require.Equal(t, int64(3), r.Sent)
	require.Equal(t, int64(5), r.Dropped)
	require.Equal(t, int64(1), r.Duplicate)
	byName := map[string]Category{}
	for _, c := range r.Categories {
		byName[c.Category] = c
	}
	require.InDelta(t, 50, *byName["b"].FirstNoticeDelay, 0, "10 s to 60 s")
	require.InDelta(t, 120, byName["b"].LongestSilence, 0, "80 s to 200 s")
	require.Nil(t, byName["c"].FirstNoticeDelay)
}

func TestRedisAndMemoryDecideTheSameForEveryKindOfTrace(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			trace, err := Generate(kind, dayLeast, 7)
			require.NoError(t, err)
			if os.Getenv("SOAK") == "" { //nolint:forbidigo // how long to test is not a setting of the relay
				from := slices.IndexFunc(trace, func(e Event) bool { return e.At >= 40*time.Minute })
				trace = trace[from:min(from+600, len(trace))]
			}
			for i := range trace {
				if i%10 == 9 {
					trace[i].ID = fmt.Sprint(i / 40) // repeats
				}
			}
			for _, strategy := range []ratelimit.StrategyKind{ratelimit.SlidingLog, ratelimit.FixedWindow, ratelimit.GCRA} {
				setting := Setting{Name: string(strategy), Channel: channel(100, 10, 30*time.Minute, strategy)}
				mine, err := Play(t.Context(), trace, setting, noProgress)
				require.NoError(t, err)
				sent, dropped, duplicate := playOnRedis(t, trace, setting)
				require.Equal(t, []int64{sent, dropped, duplicate}, []int64{mine.Sent, mine.Dropped, mine.Duplicate}, strategy)
				if kind == "storm" {
					require.Positive(t, mine.Dropped)
					require.Positive(t, mine.Duplicate)
				}
			}
		})
	}
}

// playOnRedis returns the counts of a trace that the scripts decide.
func playOnRedis(t *testing.T, trace Trace, setting Setting) (sent, dropped, duplicate int64) {
	t.Helper()
	clocked := redistest.NewClocked(t, redistest.Start(t).Client(), Start)
	builder := setting.Channel.RequestBuilder()
	redis := store.LimiterOf(redisstore.New(clocked, redisstore.Options{Now: clocked.Now}), builder.Scope())
	for i := range trace {
		clocked.Advance(Start.Add(trace[i].At).Sub(clocked.Now()))
		request := builder.Build(&events.Event{Category: trace[i].Category, Severity: trace[i].Severity})
		request.ID = idOf(&trace[i], i)
		decisions, err := redis.Admit(t.Context(), []ratelimit.Request{request})
		require.NoError(t, err)
		switch {
		case decisions[0].Duplicate:
			duplicate++
		case len(decisions[0].Refused) > 0:
			dropped++
		default:
			sent++
		}
	}
	return sent, dropped, duplicate
}

func TestGeneratedTracesAreSortedAndRepeatable(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		a, err := Generate(kind, 10_000, 1)
		require.NoError(t, err)
		b, err := Generate(kind, 10_000, 1)
		require.NoError(t, err)
		require.Equal(t, a, b, "the same each time")
		other, err := Generate(kind, 10_000, 2)
		require.NoError(t, err)
		require.NotEqual(t, a, other)
		require.Len(t, a, 10_000)
		for i := range a[1:] {
			require.LessOrEqual(t, a[i].At, a[i+1].At)
		}
	}
	_, err := Generate("odd", 1, 1)
	require.ErrorContains(t, err, `trace kind "odd" does not exist; use one of`)
}

func TestADayHasItsProblems(t *testing.T) {
	t.Parallel()
	trace, err := Generate("day", 10_000, 1)
	require.NoError(t, err)
	firing, critical := map[string]int{}, map[string]bool{}
	lastWatchdog, longest := time.Duration(0), time.Duration(0)
	for i := range trace {
		e := &trace[i]
		require.NotEmpty(t, e.Fingerprint)
		switch {
		case e.Category == "watchdog":
			longest = max(longest, e.At-lastWatchdog)
			lastWatchdog = e.At
		case e.Status == events.Firing:
			firing[e.Category]++
		}
		if e.Severity == events.Critical {
			critical[e.Category] = true
		}
		if n := trace.webhook(i); n > 1 {
			require.LessOrEqual(t, n, 20)
		}
	}
	require.Equal(t, 50*time.Minute, longest, "the watchdog is lost for 45 min")
	require.Equal(t, 5, firing["cluster-down"])
	require.Equal(t, 5*200, firing["target-down"]+firing["high-error-rate"]+firing["high-latency"]+firing["queue-full"])
	require.Equal(t, 40*20, firing["pod-crash-looping"])
	require.Greater(t, firing["service-20-unhealthy"], 100)
	require.Len(t, critical, 1+10)
	_, err = Generate("day", 100, 1)
	require.ErrorContains(t, err, "a day needs 6000 events or more, and 100 are wanted")
}

func TestSortIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var trace Trace
		for i, at := range rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "times") {
			trace = append(trace, Event{At: time.Duration(at), ID: strconv.Itoa(i)})
		}
		want := slices.Clone(trace)
		slices.SortStableFunc(want, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		trace.Sort()
		require.Equal(t, want, trace)
	})
}

func TestTracesAreWrittenAndReadAgain(t *testing.T) {
	t.Parallel()
	trace, err := Generate("storm", 500, 1)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, WriteTrace(&file, trace))
	again, err := ReadTrace(&file)
	require.NoError(t, err)
	require.Len(t, again, 500)
	for i := range trace {
		require.InDelta(t, trace[i].At, again[i].At, 1000)
		require.Equal(t, trace[i].Category, again[i].Category)
		require.Equal(t, trace[i].Severity, again[i].Severity)
	}
	trace, err = Generate("day", 6000, 1)
	require.NoError(t, err)
	require.NoError(t, WriteTrace(&file, trace))
	again, err = ReadTrace(&file)
	require.NoError(t, err)
	for i := range trace {
		require.InDelta(t, trace[i].At, again[i].At, 1000)
		again[i].At = trace[i].At
	}
	require.Equal(t, trace, again)
	dated, err := ReadTrace(strings.NewReader(`{"at":"2026-11-20T07:01:00Z","category":"Disk Full"}

{"at":"2026-11-20T08:00:00+01:00","category":"b","severity":"page","labels":{"team":"x"},"sender":"am","id":"1"}`))
	require.NoError(t, err)
	require.Equal(t, Trace{
		{ID: "1", Category: "b", Sender: "am", Severity: "critical", Labels: map[string]string{"team": "x"}},
		{At: time.Minute, Category: "disk-full", Severity: "warning"},
	}, dated)
	for fault, text := range map[string]string{
		"line 1: it is not a JSON object":           "nonsense",
		"line 2: at is missing":                     "{\"at\":1}\n{\"category\":\"a\"}",
		`line 1: at is "noon"`:                      `{"at":"noon"}`,
		"line 1: at is -1; it must not be negative": `{"at":-1}`,
		`line 1: status is "over"; write firing`:    `{"at":1,"status":"over"}`,
		"use one of them":                           "{\"at\":1}\n{\"at\":\"2026-11-20T07:01:00Z\"}",
	} {
		_, err := ReadTrace(strings.NewReader(text))
		require.ErrorContains(t, err, fault)
	}
}

func BenchmarkPlay(b *testing.B) {
	trace, err := Generate("storm", 1_000_000, 1)
	require.NoError(b, err)
	setting := Setting{Name: "plain", Channel: channel(100, 10, 30*time.Minute, "")}
	for b.Loop() {
		_, err := Play(b.Context(), trace, setting, noProgress)
		require.NoError(b, err)
	}
	b.ReportMetric(1_000_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
