package redis_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// documentedBytes are the figures of docs/redis.md, by what they are about.
func documentedBytes(t *testing.T) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	require.NoError(t, err)
	bytes := map[string]int64{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| ([\d,]+) \|`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseInt(strings.ReplaceAll(row[2], ",", ""), 10, 64)
		require.NoError(t, err)
		bytes[row[1]] = n
	}
	return bytes
}

// What a channel and its categories keep in Redis is what the documentation says, or less.
func TestChannelUsesNoMoreMemoryThanDocumented(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	b := storetest.Fixture{Limiter: redisstore.New(client, redisstore.Options{})}
	half := 30 * time.Minute
	l := storetest.Limits{Channel: ratelimit.Window{Limit: 100, Per: half}, Category: ratelimit.Window{Limit: 10, Per: half}}
	for i := range 110 {
		r := l.Request(fmt.Sprintf("%032d", i), fmt.Sprintf("category-%02d", i%10))
		r.Enqueue.Payload = storetest.Payload
		b.AdmitOne(t, r)
	}
	used := map[string]int64{}
	for _, key := range client.Keys(t.Context(), "*").Val() {
		used[key] = client.MemoryUsage(t.Context(), key, 0).Val()
	}
	for _, s := range storetest.TimedStrategies()[1:] {
		tier := ratelimit.LevelSpec{Name: "category", Strategy: s.Strategy, Windows: []ratelimit.Window{{Limit: 10, Per: half}}}
		for i := range 10 {
			b.AdmitOne(t, store.Request{
				Request: ratelimit.Request{
					ID:     fmt.Sprintf("%s-%d", tier.Strategy.Kind, i),
					Levels: []ratelimit.Level{store.LevelOf(tier, storetest.Scope, s.Name)},
				},
			})
		}
	}
	for _, key := range client.Keys(t.Context(), "*:limit:*").Val() {
		used[key] = client.MemoryUsage(t.Context(), key, 0).Val()
	}
	keepHandled(t, b, l)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if _, known := used[key]; !known {
			used[key] = client.MemoryUsage(t.Context(), key, 0).Val()
		}
	}
	documented := documentedBytes(t)
	for what, key := range map[string]string{
		"the level of a channel, 100 units, `sliding-log`":    "relay:{alerts}:limit:sliding-log:channel",
		"the level of a category, 10 units, `sliding-log`":    "relay:{alerts}:limit:sliding-log:category:alerts:category-00",
		"the same, `sliding-buckets`":                         "relay:{alerts}:limit:sliding-buckets:category:alerts:sliding-buckets of 1 s",
		"the same, `fixed-window`":                            "relay:{alerts}:limit:fixed-window:category:alerts:fixed-window, first",
		"the same, `sliding-counter`":                         "relay:{alerts}:limit:sliding-counter:category:alerts:sliding-counter",
		"the same, `gcra` or `gate`":                          "relay:{alerts}:limit:gcra:category:alerts:gcra, burst 2",
		"the ids of one hour, 100 events":                     "relay:{alerts}:seen:alerts",
		"100 waiting messages of 400 bytes, with their order": "relay:{alerts}:entries:alerts",

		"100 posted messages":                               "relay:{alerts}:posted:alerts",
		"1,000 dropped events of 400 bytes in the drop log": "relay:{alerts}:drops:alerts",
	} {
		n := used[key]
		if strings.HasSuffix(key, "entries:alerts") {
			n += used["relay:{alerts}:outbox:alerts"]
		}
		if strings.HasSuffix(key, "posted:alerts") {
			n += used["relay:{alerts}:aged:alerts"]
		}
		t.Logf("%-55s %d", what, n)
		require.Positive(t, n, key)
		require.LessOrEqual(t, n, documented[what]*11/10, what)
		require.GreaterOrEqual(t, n, documented[what]*5/10, "%s: the figure is out of date", what)
	}
}

// keepHandled has 100 messages remembered, and 1,000 drops recorded.
func keepHandled(t *testing.T, b storetest.Fixture, l storetest.Limits) {
	t.Helper()
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "post", KeepDrops: 1000}
	require.NoError(t, b.Reset(t.Context(), storetest.Scope, l.Request("", "category-00").Levels[0]))
	for i := range 100 + 1000 {
		r := l.Request(fmt.Sprintf("handled-%024d", i), fmt.Sprintf("handled-%03d", i/10))
		r.Policy, r.Enqueue.Payload = h, storetest.Payload
		r.Event = store.Event{Status: store.Firing, Fingerprint: fmt.Sprintf("%032d", i), Severity: "warning", Title: "title"}
		b.AdmitOne(t, r)
	}
}

// What the minutes cost is what the documentation says, or less.
func TestMinutesUseNoMoreMemoryThanDocumented(t *testing.T) {
	t.Parallel()
	documented := documentedBytes(t)
	measure := func(what string, play func(b storetest.Fixture)) {
		client := redistest.Start(t).Client()
		clocked := redistest.NewClocked(t, client, storetest.StartTime.Truncate(time.Hour))
		play(storetest.Fixture{Limiter: redisstore.New(clocked, redisstore.Options{Now: clocked.Now}), Advance: clocked.Advance})
		used := int64(0)
		for _, key := range client.Keys(t.Context(), "*:minutes:*").Val() {
			used += client.MemoryUsage(t.Context(), key, 0).Val()
		}
		t.Logf("%-55s %d", what, used)
		require.LessOrEqual(t, used, documented[what]*11/10, what)
		require.GreaterOrEqual(t, used, documented[what]*5/10, "%s: the figure is out of date", what)
	}
	measure("an hour of 20 categories, admitted and dropped in each minute", func(b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1_000_000), Category: ratelimit.Window{Limit: 1, Per: 30 * time.Second}}
		for minute := range 60 {
			var requests []store.Request
			for i := range 40 {
				requests = append(requests, l.Request(fmt.Sprint(minute, "-", i), fmt.Sprintf("category-%02d", i%20)))
			}
			b.MustAdmit(t, requests...)
			b.Advance(time.Minute)
		}
	})
	measure("an hour of endless categories", func(b storetest.Fixture) {
		l := storetest.Limits{Channel: storetest.PerMinute(1_000_000), Category: storetest.PerMinute(1)}
		b.AdmitCategories(t, l, "category-%04d", 6500)
	})
}
