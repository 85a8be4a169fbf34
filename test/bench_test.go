package test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"slackrelay/app"
	"slackrelay/configs"
	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/test/bare"
)

// The benchmarks post webhooks over loopback from 64 senders. The contenders differ in the limiter only: the
// handler, from the socket to the receipt, is the relay's own.
//
//	a-bare                the limiter refuses at once, without a call
//	b-one-script-an-event one call of the plain script for each event
//	c-relay               the relay's limiter
//	d-plain-handler       for reference: no relay, JSON in and a reply of the same size out
//
// x_bare is the rate relative to a-bare, x_script to b, in the same run.

// BenchmarkStorm posts events of a category that is full.
func BenchmarkStorm(b *testing.B) {
	for _, events := range []int{1, 20} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) { compete(b, events, 100, 10) })
	}
}

// BenchmarkOpenLimits posts events that all fit.
func BenchmarkOpenLimits(b *testing.B) {
	compete(b, 1, 1_000_000, 1_000_000)
}

func compete(b *testing.B, events int, channel, category int64) {
	b.Helper()
	url := redistest.Start(b).URL
	opts, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	opts.PoolSize = 64
	client := redis.NewClient(opts)
	b.Cleanup(func() { client.Close() })
	cfg := configs.Default()
	cfg.RedisURL, cfg.Channels[0].GlobalLimit, cfg.Channels[0].CategoryLimit = configs.Secret(url), channel, category
	cfg.Channels[0].Window = time.Second // so that what is admitted does not pile up
	if channel <= 100 {
		cfg.Channels[0].Window = time.Hour
	}
	relayURL, reply := benchRelay(b, cfg, events)
	plain := httptest.NewServer(bare.Handler[bare.Events](reply))
	b.Cleanup(plain.Close)
	ballast := make([]byte, 64<<20) // never touched, so not resident: garbage is collected as rarely for each
	defer runtime.KeepAlive(ballast)
	contenders := []struct{ name, url string }{
		{"a-bare", benchOwnHandler(b, cfg, func(context.Context, int) bool { return channel > 100 })},
		{"b-one-script-an-event", benchOwnHandler(b, cfg, askSeedScript(client, channel, category))},
		{"c-relay", relayURL},
		{"d-plain-handler", plain.URL},
	}
	// The contenders take turns, and the median counts: other work of the machine affects all of them.
	turns := make([][]float64, len(contenders))
	for turn := range benchTurns + 1 {
		for i, c := range contenders {
			if rate := postFor(b, c.url, bare.JSON(bare.ManyEvents(events))); turn > 0 { // the first one warms up
				turns[i] = append(turns[i], rate)
			}
		}
	}
	rates := make([]float64, len(contenders))
	for i := range turns {
		slices.Sort(turns[i])
		rates[i] = turns[i][len(turns[i])/2]
	}
	for i, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op") // measured before
			b.ReportMetric(rates[i], "req/s")
			b.ReportMetric(rates[i]/rates[0], "x_bare")
			b.ReportMetric(rates[i]/rates[1], "x_script")
		})
	}
}

// benchTurn is how long a contender is measured at a time, benchTurns how often.
const (
	benchTurn  = 500 * time.Millisecond
	benchTurns = 7
)

// postFor posts from 64 senders for one turn, and returns the requests per second.
func postFor(b *testing.B, url string, body []byte) float64 {
	b.Helper()
	var posted atomic.Int64
	var senders sync.WaitGroup
	begin := time.Now()
	for range 64 {
		senders.Go(func() {
			for time.Since(begin) < benchTurn {
				response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				posted.Add(1)
			}
		})
	}
	senders.Wait()
	return float64(posted.Load()) / time.Since(begin).Seconds()
}

// plainLimiter replaces the limiter, and decides one event after the other.
type plainLimiter struct {
	store.Store
	admits func(ctx context.Context, events int) bool
}

func (l plainLimiter) Durable() bool { return true }

func (l plainLimiter) Admit(ctx context.Context, _ store.Channel, requests []store.Request) (store.Answer, error) {
	decisions := make([]store.Decision, len(requests))
	for i := range decisions {
		decisions[i] = store.Decision{
			Decision: ratelimit.Decision{Level: "category", RetryAfter: time.Minute},
			Durable:  true, Outcome: store.Dropped, DecidedBy: store.ByRedis,
		}
		if l.admits(ctx, 1) {
			decisions[i] = store.Decision{Durable: true, Outcome: store.Admitted, DecidedBy: store.ByRedis}
		}
	}
	return store.Answer{Decisions: decisions}, nil
}

// benchOwnHandler is the relay's own handler with another limiter.
func benchOwnHandler(b *testing.B, cfg configs.Config, admits func(ctx context.Context, events int) bool) string {
	b.Helper()
	registry := prometheus.NewRegistry()
	channels := cfg.PipelineChannels(nil)
	limiter := plainLimiter{admits: admits}
	s := server.New(server.Options{
		Channels: cfg.ServerChannels(), Registry: registry, Logger: slog.New(slog.DiscardHandler),
		Status: pipeline.NewStatusReader(limiter, channels, nil, nil),
		Intake: pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(registry), Wake: func(string) {},
		}),
	})
	var lc net.ListenConfig
	listener, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // ended in Cleanup, when b.Context has ended already
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(ctx, listener, s.Public(), server.ServeOptions{Logger: slog.New(slog.DiscardHandler), Grace: time.Second})
	}()
	b.Cleanup(func() {
		cancel()
		<-served
	})
	return "http://" + listener.Addr().String() + "/hooks/default/generic"
}

func askSeedScript(client *redis.Client, channel, category int64) func(ctx context.Context, events int) bool {
	script := redis.NewScript(redistest.Yardstick) //nolint:forbidigo // the rival, not one of ours
	return func(ctx context.Context, _ int) bool {
		n, err := script.Run(ctx, client, []string{"seed:channel", "seed:category"}, channel, category, 1_000_000).Int()
		if err != nil {
			panic(err)
		}
		return n == 1
	}
}

// benchRelay runs a whole relay in this process on its Redis, after some events, and returns where to post
// and what it replies.
func benchRelay(b *testing.B, cfg configs.Config, events int) (url string, reply []byte) {
	b.Helper()
	cfg.Listen, cfg.OpsListen, cfg.Drain = "127.0.0.1:0", "127.0.0.1:0", 0
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // ended in Cleanup, when b.Context has ended already
	relay, err := app.New(ctx, app.Options{Config: &cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- relay.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-stopped
	})
	url = "http://" + relay.PublicAddr().String() + "/hooks/default/generic"
	for range 11 {
		reply = postOnce(b, url, bare.JSON(bare.ManyEvents(events)))
	}
	return url, reply
}

func postOnce(b *testing.B, url string, body []byte) []byte {
	b.Helper()
	response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusAccepted {
		b.Fatalf("%d %s %v", response.StatusCode, answer, err)
	}
	return answer
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
