package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/lua"
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
	intake   *pipeline.Intake
	couriers []*pipeline.Courier
	status   *pipeline.Status
	previews map[string]*notifier.Preview
	redis    redis.UniversalClient // nil where none is configured
	shared   *ratelimit.Shared     // on it
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
	r := &relay{cfg: cfg, log: around.log, previews: map[string]*notifier.Preview{}, close: func() error { return nil }}
	registry := prometheus.NewRegistry()
	e, err := r.engines(around, registry)
	if err != nil {
		return nil, err
	}
	channels := cfg.PipelineChannels(func(ch configs.Channel) notifier.Sender {
		return cfg.Sender(ch, func(name string) notifier.Sender {
			r.previews[name] = notifier.NewPreview(name, around.console, previewKeeps)
			return r.previews[name]
		})
	})
	metrics := pipeline.NewMetrics(registry)
	r.status = pipeline.NewStatus(e.limiter, channels, e.outages, e.boxes[0])
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), server.NewGauges(r.status))
	posts, edits, lookups := cfg.PerMinute()
	for _, box := range e.boxes {
		r.couriers = append(r.couriers, pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: box, Channels: channels, Operations: cfg.Operations(), Limiter: e.limiter, Metrics: metrics, Logger: around.log,
			SendTimeout: cfg.SlackTimeout, Settle: settle(cfg), Budget: box, PostsPerMinute: posts,
			EditsPerMinute: edits, LookupsPerMinute: lookups,
		}))
	}
	r.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: e.limiter, Channels: channels, Metrics: metrics, Admitted: r.wake, Outbox: e.boxes[0], Logger: around.log,
	})
	archive := &pipeline.Archive{Limiter: e.limiter, Outbox: e.boxes[0], Intake: r.intake, Channels: channels}
	r.server = server.New(server.Options{
		Channels: cfg.ServerChannels(), Intake: r.intake, Status: r.status, Archive: archive, Registry: registry, Logger: around.log,
		AdminToken: string(cfg.AdminToken), Local: cfg.OpsIsLocal(),
	})
	return r, nil
}

// settle is how long after an attempt of unknown fate Slack is asked; negative = never.
func settle(cfg configs.Config) time.Duration {
	if cfg.SlackSettle == 0 {
		return -1
	}
	return cfg.SlackSettle
}

// wake has every courier look at a channel's outbox.
func (r *relay) wake(channel string) {
	for _, courier := range r.couriers {
		courier.Wake(channel)
	}
}

// engines are a limiter and where it queues what it admits: on Redis, with a fallback in memory for when that
// is away; or in memory alone.
type engines struct {
	limiter ratelimit.Limiter
	boxes   []box
	outages pipeline.Outages
}

// box is an outbox, with the budgets that are kept beside it.
type box interface {
	outbox.Outbox
	outbox.Budget
}

func (r *relay) engines(around surroundings, registry prometheus.Registerer) (engines, error) {
	opts := outbox.Options{Owner: owner(), Lease: r.cfg.Lease, DeadLetters: r.cfg.DeadLetters}
	redisOptions, err := r.cfg.Redis()
	if err != nil {
		return engines{}, err
	}
	if redisOptions == nil {
		if around.speed > 1 { // store time runs ahead; the lease is meant in wall time
			opts.Lease = time.Duration(float64(opts.Lease) * around.speed)
		}
		store := memstore.New(memstore.Options{Speed: around.speed})
		limiter := r.byChannel(ratelimit.NewMemory(store, r.cfg.Dedupe), func() ratelimit.Limiter {
			return ratelimit.NewMultiMemory(store, ratelimit.MultiOptions{Dedupe: r.cfg.Dedupe})
		})
		return engines{limiter: limiter, boxes: []box{outbox.NewMemory(store, opts)}}, nil
	}
	configs.RedisLog(around.log)
	client := redis.NewUniversalClient(redisOptions)
	r.redis, r.close = client, client.Close
	return r.onRedis(lua.NewConn(client, r.cfg.RedisWaitReplicas), opts, registry), nil
}

func (r *relay) onRedis(client *lua.Conn, opts outbox.Options, registry prometheus.Registerer) engines {
	store := memstore.New(memstore.Options{})
	opts.PaceFactor = func() int64 { return r.shared.Health().Replicas }
	unsent := &unsent{box: outbox.NewMemory(store, opts)}
	steps := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_redis_clock_steps_total", Help: "How often Redis's clock was found to have gone back.",
	}, []string{"channel"})
	registry.MustRegister(steps)
	r.shared = ratelimit.NewShared(ratelimit.NewRedis(client, ratelimit.RedisOptions{
		Dedupe: r.cfg.Dedupe,
		Stepped: func(channel string, by time.Duration) {
			steps.WithLabelValues(channel).Inc()
			r.log.Error("the clock of Redis went back; what it had admitted \"later\" was moved to now", "channel", channel, "by", by)
		},
	}), ratelimit.SharedOptions{
		Replica: opts.Owner, Policies: r.cfg.Policies(), Replicas: int(r.cfg.Replicas), Store: store, Unsent: unsent,
		Dedupe: r.cfg.Dedupe, CallTimeout: r.cfg.RedisTimeout, Logger: r.log,
	})
	limiter := r.byChannel(r.shared, func() ratelimit.Limiter {
		return ratelimit.NewMulti(client, ratelimit.MultiOptions{Dedupe: r.cfg.Dedupe})
	})
	return engines{limiter: limiter, boxes: []box{outbox.NewRedis(client, opts), unsent.box}, outages: r.shared}
}

// byChannel sends the channels that are decided without scripts to an engine of their own.
func (r *relay) byChannel(limiter ratelimit.Limiter, multi func() ratelimit.Limiter) ratelimit.Limiter {
	apart := map[string]ratelimit.Limiter{}
	for _, ch := range r.cfg.Channels {
		if ch.Multi() {
			apart[ch.Name] = multi()
		}
	}
	if len(apart) == 0 {
		return limiter
	}
	return ratelimit.ByChannel{Limiter: limiter, Engines: apart}
}

// unsent gives back what the fallback queued in memory, in the limiter's words.
type unsent struct{ box *outbox.Memory }

func (u *unsent) TakeBack(ctx context.Context, scope ratelimit.Scope) ([]int64, error) {
	return u.box.TakeBack(ctx, outbox.Channel{Group: scope.Group, Name: scope.Channel})
}

func (u *unsent) Resume(scope ratelimit.Scope) {
	u.box.Resume(outbox.Channel{Group: scope.Group, Name: scope.Channel})
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
