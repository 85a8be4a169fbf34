package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/lua/memstore"
	"slackrelay/notifier"
	"slackrelay/outbox"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
)

// previewKeeps is how many messages a channel without Slack keeps in memory.
const previewKeeps = 100

// relay is the assembled program.
type relay struct {
	cfg      configs.Config
	log      *slog.Logger
	server   *server.Server
	courier  *pipeline.Courier
	status   *pipeline.Status
	previews map[string]*notifier.Preview
	close    func() error
}

// surroundings are what a command lends the relay.
type surroundings struct {
	log     *slog.Logger
	console io.Writer // where messages are shown when no Slack is configured; nil = nowhere
	speed   float64   // of the in-memory clock; 0 = 1
}

// assemble puts the rooms together: the engines on Redis, or their twins in memory, then the way of an event
// from the webhook to Slack.
func assemble(cfg configs.Config, around surroundings) (*relay, error) {
	r := &relay{cfg: cfg, log: around.log, previews: map[string]*notifier.Preview{}}
	limiter, box, err := r.engines(around)
	if err != nil {
		return nil, err
	}
	channels := cfg.PipelineChannels(func(ch configs.Channel) notifier.Sender {
		return cfg.Sender(ch, func(name string) notifier.Sender {
			r.previews[name] = notifier.NewPreview(name, around.console, previewKeeps)
			return r.previews[name]
		})
	})
	registry := prometheus.NewRegistry()
	metrics := pipeline.NewMetrics(registry)
	r.status = pipeline.NewStatus(limiter, channels)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), server.NewGauges(r.status))
	r.courier = pipeline.NewCourier(pipeline.CourierOptions{
		Outbox: box, Channels: channels, Metrics: metrics, Logger: around.log, SendTimeout: cfg.SlackTimeout,
	})
	intake := pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: channels, Metrics: metrics, Admitted: r.courier.Wake,
	})
	r.server = server.New(server.Options{
		Channels: cfg.ServerChannels(), Intake: intake, Status: r.status, Registry: registry, Logger: around.log,
	})
	return r, nil
}

// engines are the limiter and the outbox, on Redis or in memory.
func (r *relay) engines(around surroundings) (ratelimit.Limiter, outbox.Outbox, error) {
	opts := outbox.Options{Owner: owner(), Lease: r.cfg.Lease}
	redisOptions, err := r.cfg.Redis()
	if err != nil {
		return nil, nil, err
	}
	if redisOptions == nil {
		r.close = func() error { return nil }
		if around.speed > 1 { // store time runs ahead; the lease is meant in wall time
			opts.Lease = time.Duration(float64(opts.Lease) * around.speed)
		}
		store := memstore.New(memstore.Options{Speed: around.speed})
		return ratelimit.NewMemory(store, r.cfg.Dedupe), outbox.NewMemory(store, opts), nil
	}
	configs.RedisLog(around.log)
	client := redis.NewClient(redisOptions)
	r.close = client.Close
	return ratelimit.NewRedis(client, ratelimit.RedisOptions{Dedupe: r.cfg.Dedupe}), outbox.NewRedis(client, opts), nil
}

// owner names this process among the replicas, and this start of it.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())
}

func newLogger(cfg configs.Config, out io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo // validated before
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, opts))
	}
	return slog.New(slog.NewTextHandler(out, opts))
}
