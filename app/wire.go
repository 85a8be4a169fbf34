package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/configs"
	"slackrelay/decisionlog"
	"slackrelay/interaction"
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

// maxWait is how long a webhook waits for the limiter.
const maxWait = 2 * time.Second

// previewCapacity is how many messages a channel without Slack keeps in memory.
const previewCapacity = 100

// Relay is an assembled relay: what lives as long as the process and, in current, what a new configuration replaces. New
// makes one.
type Relay struct {
	opts        Options
	log         *slog.Logger
	started     configs.Config // with which the process started; without its channels once they are assembled
	version     string
	owner       string // names this process among the replicas
	registry    *prometheus.Registry
	tracer      trace.Tracer // nil = no traces
	flushTraces func(ctx context.Context)
	decisions   *decisionlog.Log // nil = no decision log

	engines     engines
	redis       redis.UniversalClient // nil = none is configured
	replica     *replica.Limiter      // nil = none is configured
	unavailable error                 // of the first probe of Redis; nil = it was available
	silencer    *silence.Silencer
	alerts      *pipeline.AlertMemory
	recorder    pipeline.Recorder
	missed      pipeline.MissedEvents
	guard       *server.Guard
	labels      *pipeline.ChannelLabels // of all metrics
	metrics     *pipeline.Metrics
	canary      *pipeline.CanaryMetrics
	heartbeats  *pipeline.HeartbeatMemory
	checks      *pipeline.Destinations
	instances   *pipeline.Registry // of the channels that templates made

	interactions *interaction.Receiver

	previewing sync.Mutex
	previews   map[string]*notifier.Preview // by channel; previewing is held

	public   net.Listener
	ops      net.Listener
	current  atomic.Pointer[generation]
	reloader *reloader
}

func newRelay(cfg configs.Config, opts Options) *Relay {
	r := &Relay{
		opts: opts, started: cfg, version: cmp.Or(opts.Version, "development"), owner: owner(), registry: prometheus.NewRegistry(),
		flushTraces: func(context.Context) {}, previews: map[string]*notifier.Preview{},
		labels: pipeline.NewChannelLabels(int(cfg.MetricsChannels)), alerts: pipeline.NewAlertMemory(),
	}
	r.log = opts.Logger
	if r.log == nil {
		var suppressed prometheus.Collector
		r.log, suppressed = newLogger(cfg, opts.Stderr)
		r.registry.MustRegister(suppressed)
	}
	return r
}

// assemble connects the rooms: the engines on Redis or their twins in memory, and then the path of an event from the
// webhook to Slack.
func (r *Relay) assemble(context.Context) error {
	if err := r.openEngines(r.started); err != nil {
		return err
	}
	r.guard = server.NewGuard(r.registry)
	r.guard.Bound(r.labels)
	r.metrics = pipeline.NewMetrics(r.registry)
	r.metrics.Bound(r.labels)
	r.canary = pipeline.NewCanaryMetrics(r.registry)
	r.heartbeats = pipeline.NewHeartbeatMemory()
	r.checks = pipeline.NewDestinations(pipeline.DestinationsOptions{
		Documents: r.engines.limiter, Budget: r.engines.outbox, Logger: r.log,
	})
	r.registry.MustRegister(pipeline.NewHeartbeatGauges(r.heartbeats))
	r.instances = pipeline.NewRegistry(pipeline.RegistryOptions{
		Store: r.engines.instances, Changed: r.instancesChanged, Timeout: r.started.RedisTimeout, Logger: r.log,
	})
	r.interactions = interaction.NewReceiver(interaction.Options{
		Documents: r.engines.limiter, Owner: r.owner, Metrics: interaction.NewMetrics(r.registry), Timeout: r.started.SlackTimeout,
		Logger: r.log,
	})
	r.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(r.version), server.NewGauges(func() *pipeline.StatusReader { return r.Status() }, r.labels))
	r.reloader = newReloader(r)
	g, err := r.newGeneration(r.started)
	if err != nil {
		return err
	}
	r.started.Channels = nil // the generation has them, and a reload may replace them
	r.current.Store(g)
	r.interactions.Configure(g.cfg.Apps(), g.handler)
	if r.replica != nil {
		r.replica.SetLevels(g.levels())
	}
	return nil
}

// Status reads the state of all channels. It changes with each reload: call it again instead of keeping it.
func (r *Relay) Status() *pipeline.StatusReader { return r.current.Load().status }

// ShowMessages prints the messages of channels without a Slack destination on out from now on.
func (r *Relay) ShowMessages(out io.Writer) {
	r.previewing.Lock()
	defer r.previewing.Unlock()
	for _, preview := range r.previews {
		preview.PrintTo(out)
	}
}

// engines are a limiter and the outboxes that it fills: in Redis, with a second one in memory for outages, or in memory alone.
type engines struct {
	limiter  limiter
	outbox   queue                 // of what the limiter admits
	outages  pipeline.OutageReader // nil = no Redis is configured
	outboxes []queue               // all that a courier must empty
	pausers  []pipeline.Pauser     // the same
	notices  []pipeline.NoticeQueue

	instances store.Instances // the list of the channels that templates made
}

// add adds an outbox that a courier must empty.
func (e *engines) add(q queue) {
	e.outboxes = append(e.outboxes, q)
	e.pausers = append(e.pausers, q)
	e.notices = append(e.notices, q)
}

// limiter is what decides, with all that the parts of the pipeline call of it.
type limiter interface {
	pipeline.Admitter
	pipeline.LimiterReader
	pipeline.Refunder
	pipeline.DropLister
	pipeline.Resetter
	store.Problems
	Durable() bool
}

// queue is an outbox with all that the parts of the pipeline call of it.
type queue interface {
	store.Queue
	store.DeadLetters
	store.Budget
}

func (r *Relay) openEngines(cfg configs.Config) error {
	opts := store.Options{Dedupe: cfg.Dedupe, Owner: r.owner, Lease: cfg.Lease, DeadLetters: cfg.DeadLetters}
	redisOptions, err := cfg.Redis()
	if err != nil {
		return err
	}
	if redisOptions == nil {
		r.inMemory(cfg, opts)
		return nil
	}
	configs.RedisLog(r.log)
	client := redis.NewUniversalClient(redisOptions)
	r.redis = client
	registerPool(r.registry, client.PoolStats)
	registerFaults(r.registry, client)
	r.silencer = silence.New(silence.Options{Store: silence.NewRedis(client), Logger: r.log})
	r.onRedis(cfg, lua.NewConn(client, cfg.RedisWaitReplicas), opts)
	return nil
}

func (r *Relay) inMemory(cfg configs.Config, opts store.Options) {
	if r.opts.Speed > 1 { // the store's time runs ahead; the lease is meant in wall time
		opts.Lease = time.Duration(float64(opts.Lease) * r.opts.Speed)
	}
	data := memory.NewData(memory.DataOptions{Speed: r.opts.Speed})
	r.silencer = silence.New(silence.Options{Store: silence.NewMemory(nil), Logger: r.log})
	s := memory.New(data, memory.Options{Options: opts})
	r.engines.limiter = s
	r.engines.outbox = s
	r.engines.instances = s
	r.engines.add(s)
}

func (r *Relay) onRedis(cfg configs.Config, client *lua.Conn, opts store.Options) {
	fallback := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{
		Options: opts, DecidedBy: store.ByFallback, KeepResults: true,
		PaceDivisor: func() int64 { return r.replica.Replicas() },
	})
	shared := redisstore.New(client, redisstore.Options{Options: opts, ClockStepped: r.reportClockSteps()})
	r.replica = replica.New(shared, replica.Options{
		Replica: opts.Owner, Policies: cfg.Policies(), PolicyOf: r.policyOfInstance, Replicas: int(cfg.Replicas),
		Fallback: fallback, FallbackOutbox: fallback,
		Dedupe: cfg.Dedupe, CallTimeout: cfg.RedisTimeout, MaxWait: maxWait, Recheck: r.recheck, Logger: r.log,
	})
	r.engines.limiter = r.replica
	r.engines.outbox = shared
	r.engines.instances = shared
	r.engines.outages = r.replica
	r.engines.add(shared)
	r.engines.add(fallback)
}

// reportClockSteps registers a counter of backward steps of Redis's clock, and returns what counts and logs one.
func (r *Relay) reportClockSteps() func(channel string, by time.Duration) {
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_redis_clock_steps_total", Help: "How often Redis's clock was found to have gone back.",
	}, []string{"channel"})
	r.registry.MustRegister(steps)
	r.labels.Bound(steps)
	return func(channel string, by time.Duration) {
		steps.WithLabelValues(r.labels.Of(channel)).Inc()
		r.log.Error("redis clock went back: later admissions were moved to now", "channel", channel, "by", by)
	}
}

// owner names this process among the replicas, and this start of it.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())
}
