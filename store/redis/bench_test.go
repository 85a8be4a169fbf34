package redis_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

// BenchmarkScript compares the time that Redis itself spends on a decision, from its own statistics: x_seed is
// the rate as a ratio to the seed-style script, x_redis_rate to go-redis/redis_rate, in the same run.
func BenchmarkScript(b *testing.B) {
	client := redistest.Start(b).Client()
	engine := redisstore.New(lua.NewConn(client, 0), redisstore.Options{})
	seed := redis.NewScript(redistest.Yardstick) //nolint:forbidigo // the rival, not one of ours
	rate := redis_rate.NewLimiter(client)
	const long, short = 30 * time.Minute, time.Millisecond
	for _, outcome := range []struct {
		name string
		l    storetest.Limits
	}{
		{"refused", storetest.Limits{Channel: ratelimit.Window{Limit: 100, Per: long}, Category: ratelimit.Window{Limit: 10, Per: long}}},
		{"admitted", storetest.Limits{
			Channel:  ratelimit.Window{Limit: 1_000_000, Per: short},
			Category: ratelimit.Window{Limit: 1_000_000, Per: short},
		}},
	} {
		perSeed := micros(b, client, outcome.name+"/seed", 1, func(int) error {
			return seed.Run(b.Context(), client, []string{outcome.name + ":channel", outcome.name + ":category"},
				outcome.l.Channel.Limit, outcome.l.Category.Limit, outcome.l.Channel.Per.Microseconds()).Err()
		}, 0)
		for _, batch := range []int{1, 20} {
			micros(b, client, fmt.Sprintf("%s/batch=%d", outcome.name, batch), batch, func(i int) error {
				requests := make([]store.Request, batch)
				for j := range requests {
					requests[j] = outcome.l.Request(fmt.Sprintf("%s%d-%020d", outcome.name, batch, i*batch+j), outcome.name)
					requests[j].Enqueue.Payload = storetest.Payload
				}
				_, err := engine.Admit(b.Context(), storetest.Scope, requests)
				return err
			}, perSeed)
		}
	}
	perRate := micros(b, client, "one level refused/redis_rate", 1, func(int) error {
		_, err := rate.Allow(b.Context(), "key", redis_rate.Limit{Rate: 10, Burst: 10, Period: long})
		return err
	}, 0)
	for _, strategy := range []ratelimit.Strategy{{}, {Kind: ratelimit.GCRA}} {
		tier := ratelimit.LevelSpec{Name: "channel", Strategy: strategy, Windows: []ratelimit.Window{{Limit: 10, Per: long}}}
		micros(b, client, "one level refused/"+string(strategy.Kind)+"relay", 1, func(i int) error {
			_, err := engine.Admit(b.Context(), store.Channel{Group: "one", Name: "one"},
				[]store.Request{{Request: ratelimit.Request{
					ID:     fmt.Sprint(strategy.Kind, i),
					Levels: []ratelimit.Level{store.ChannelLevel(tier, "one")},
				}}})
			return err
		}, perRate)
	}
}

// BenchmarkSenders has 64 senders ask at once, one event each, while the limits are open. In the same run:
// x_seed is the rate as a ratio to one call of the seed-style script an event, which only counts; x_script to one
// call of the relay's own script an event, which also remembers the id, keeps the ledger, and queues a payload
// of 400 bytes, as the coalesced calls do.
func BenchmarkSenders(b *testing.B) {
	server := redistest.Start(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, PoolSize: 64, Protocol: 2})
	b.Cleanup(func() { _ = client.Close() })
	seed := redis.NewScript(redistest.Yardstick) //nolint:forbidigo // the rival, not one of ours
	engine := redisstore.New(lua.NewConn(client, 0), redisstore.Options{Options: store.Options{Dedupe: time.Second}})
	shared := storetest.Share(b, engine, replica.Options{})
	window := ratelimit.Window{Limit: 1_000_000, Per: time.Second}
	l := storetest.Limits{Channel: window, Category: window}
	rates := map[string]float64{}
	var id atomic.Int64
	admit := func(limiter storetest.Limiter) func() error {
		return func() error {
			r := l.Request(fmt.Sprintf("%032d", id.Add(1)), "errors")
			r.Enqueue.Payload = storetest.Payload
			_, err := limiter.Admit(b.Context(), storetest.Scope, []store.Request{r})
			return err
		}
	}
	for _, c := range []struct {
		name string
		ask  func() error
	}{
		{"a-seed-script-an-event", func() error {
			return seed.Run(b.Context(), client, []string{"channel", "category"}, window.Limit, window.Limit, window.Per.Microseconds()).Err()
		}},
		{"b-one-script-an-event", admit(engine)},
		{"c-relay", admit(shared)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := c.ask(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			rates[c.name] = float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rates[c.name], "events/s")
			b.ReportMetric(rates[c.name]/rates["a-seed-script-an-event"], "x_seed")
			if script := rates["b-one-script-an-event"]; script > 0 {
				b.ReportMetric(rates[c.name]/script, "x_script")
			}
		})
	}
}

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// micros runs a call and returns the microseconds that Redis spent on one event, by its own account.
func micros(b *testing.B, client *redis.Client, name string, batch int, call func(i int) error, rival float64) (each float64) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		for i := range 12 { // fill what is to be full
			if err := call(-i - 1); err != nil {
				b.Fatal(err)
			}
		}
		if err := client.ConfigResetStat(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if err := call(i); err != nil {
				b.Fatal(err)
			}
		}
		stats := evalsha.FindStringSubmatch(client.Info(b.Context(), "commandstats").Val())
		if stats == nil {
			b.Fatal("no statistics")
		}
		calls, _ := strconv.ParseFloat(stats[1], 64)
		total, _ := strconv.ParseFloat(stats[2], 64)
		each = total / calls / float64(batch)
		b.ReportMetric(each, "server_us/event")
		if rival > 0 {
			b.ReportMetric(rival/each, "x_rival")
		}
	})
	return each
}

// BenchmarkGroups is what Redis spends on a group of alerts that is one message: it fires, is told again, and is resolved, which
// edits the message.
func BenchmarkGroups(b *testing.B) {
	h := &store.MessagePolicy{Overflow: "drop", Resolves: "edit", Repeats: true}
	l := storetest.Limits{
		Channel:  ratelimit.Window{Limit: 1_000_000, Per: time.Millisecond},
		Category: ratelimit.Window{Limit: 1_000_000, Per: time.Millisecond},
	}
	for _, size := range []int{1, 20, 128} {
		client := redistest.Start(b).Client()
		engine := redisstore.New(lua.NewConn(client, 0), redisstore.Options{})
		micros(b, client, fmt.Sprint("alerts=", size), size, func(i int) error {
			for turn, status := range []store.Status{store.Firing, store.Firing, store.Resolved} {
				requests := make([]store.Request, size)
				for j := range requests {
					requests[j] = l.AlertRequest(h, fmt.Sprintf("%d-%d-%d", turn, i, j), "c", status, fmt.Sprintf("%016d%016d", i, j))
					requests[j].Enqueue.Payload, requests[j].Event.Bundle = storetest.Payload, "group"
				}
				if _, err := engine.Admit(b.Context(), storetest.Scope, requests); err != nil {
					return err
				}
			}
			return nil
		}, 0)
	}
}
