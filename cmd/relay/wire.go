package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/configs"
	"slackrelay/lua"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
	"slackrelay/server"
	"slackrelay/silence"
	"slackrelay/store"
	"slackrelay/store/memory"
	redisstore "slackrelay/store/redis"
)

// previewKeeps is how many messages a channel without Slack keeps in memory.
const previewKeeps = 100

// relay is the assembled program: what lives as long as the process, and in current what a new configuration replaces.
type relay struct {
	log      *slog.Logger
	started  configs.Config // that it was started with
	registry *prometheus.Registry
	engines  engines
	silencer *silence.Silencer
	tracer   trace.Tracer // nil = no traces
	guard    *server.Guard
	metrics  *pipeline.Metrics
	canary   *pipeline.CanaryMetrics
	console  io.Writer
	previews map[string]*notifier.Preview // by channel
	redis    redis.UniversalClient        // nil where none is configured
	shared   *replica.Limiter             // on it
	close    func() error

	current  atomic.Pointer[generation]
	reloader *reloader
}

// surroundings are what a command lends the relay.
type surroundings struct {
	log     *slog.Logger
	lines   prometheus.Collector // what is counted of log; nil = nothing
	tracer  trace.Tracer         // nil = no traces
	console io.Writer            // where messages are shown when no Slack is configured; nil = nowhere
	speed   float64              // of the in-memory clock; 0 = 1
	flags   configs.Flags
	fixed   bool // the configuration is no file's, and never read again
}

// assemble puts the rooms together: the engines on Redis, or their twins in memory, then the way of an event
// from the webhook to Slack.
func assemble(cfg configs.Config, around surroundings) (*relay, error) {
	r := &relay{
		started: cfg, log: around.log, tracer: around.tracer, console: around.console, registry: prometheus.NewRegistry(), previews: map[string]*notifier.Preview{},
		close: func() error { return nil },
	}
	if err := r.openEngines(cfg, around); err != nil {
		return nil, err
	}
	r.guard = server.NewGuard(r.registry)
	r.metrics, r.canary = pipeline.NewMetrics(r.registry), pipeline.NewCanaryMetrics(r.registry)
	r.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(),
		server.NewGauges(func() *pipeline.Status { return r.status() }))
	if around.lines != nil {
		r.registry.MustRegister(around.lines)
	}
	r.reloader = newReloader(r, around.flags, around.fixed)
	g, err := r.newGeneration(cfg)
	if err != nil {
		return nil, err
	}
	r.current.Store(g)
	if r.shared != nil {
		r.shared.SetLevels(g.levels)
	}
	return r, nil
}

// status says how it all stands.
func (r *relay) status() *pipeline.Status { return r.current.Load().status }

// engines are a limiter and where it queues what it admits: on Redis, with a fallback in memory for when that
// is away; or in memory alone.
type engines struct {
	limiter store.Limiter
	boxes   []box
	outages pipeline.Outages
}

// box is an outbox, with the budgets that are kept beside it.
type box interface {
	store.Outbox
	store.Budget
}

func (r *relay) openEngines(cfg configs.Config, around surroundings) error {
	opts := store.Options{Dedupe: cfg.Dedupe, Owner: owner(), Lease: cfg.Lease, DeadLetters: cfg.DeadLetters}
	redisOptions, err := cfg.Redis()
	if err != nil {
		return err
	}
	if redisOptions == nil {
		r.inMemory(cfg, opts, around.speed)
		return nil
	}
	configs.RedisLog(around.log)
	client := redis.NewUniversalClient(redisOptions)
	r.redis, r.close = client, client.Close
	registerPool(r.registry, client.PoolStats)
	registerFaults(r.registry, client)
	r.silencer = silence.New(silence.Options{Store: silence.NewRedis(client), Logger: r.log})
	r.onRedis(cfg, lua.NewConn(client, cfg.RedisWaitReplicas), opts)
	return nil
}

func (r *relay) inMemory(cfg configs.Config, opts store.Options, speed float64) {
	if speed > 1 { // store time runs ahead; the lease is meant in wall time
		opts.Lease = time.Duration(float64(opts.Lease) * speed)
	}
	data := memory.NewData(memory.DataOptions{Speed: speed})
	r.silencer = silence.New(silence.Options{Store: silence.NewMemory(nil), Logger: r.log})
	s := memory.New(data, memory.Options{Options: opts})
	r.engines.limiter, r.engines.boxes = s, []box{s}
}

func (r *relay) onRedis(cfg configs.Config, client *lua.Conn, opts store.Options) {
	data := memory.NewData(memory.DataOptions{})
	fallback := memory.New(data, memory.Options{
		Options: opts, DecidedBy: store.ByFallback, KeepResults: true, PaceDivisor: func() int64 { return r.shared.Health().Replicas },
	})
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_redis_clock_steps_total", Help: "How often Redis's clock was found to have gone back.",
	}, []string{"channel"})
	r.registry.MustRegister(steps)
	shared := redisstore.New(client, redisstore.Options{
		Options: opts,
		ClockStepped: func(channel string, by time.Duration) {
			steps.WithLabelValues(channel).Inc()
			r.log.Error("the clock of Redis went back; what it had admitted \"later\" was moved to now", "channel", channel, "by", by)
		},
	})
	r.shared = replica.New(shared, replica.Options{
		Replica: opts.Owner, Policies: cfg.Policies(), Replicas: int(cfg.Replicas), Fallback: fallback, FallbackOutbox: fallback,
		Dedupe: cfg.Dedupe, CallTimeout: cfg.RedisTimeout, Logger: r.log,
	})
	r.engines.limiter, r.engines.boxes, r.engines.outages = r.shared, []box{shared, fallback}, r.shared
}

// owner names this process among the replicas, and this start of it.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())
}
