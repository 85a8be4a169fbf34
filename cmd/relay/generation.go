package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"time"

	"slackrelay/configs"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store"
)

// generation is what a configuration made: it is replaced as a whole by the next one. What it counts and queues is kept by
// the engines, which stay.
type generation struct {
	cfg      configs.Config
	tls      *tls.Config // of the public listener; nil = it speaks none
	server   *server.Server
	public   http.Handler
	ops      http.Handler
	intake   *pipeline.Intake
	couriers []*pipeline.Courier
	canary   *pipeline.Canary // nil = none
	status   *pipeline.Status
	levels   []ratelimit.Level // of all channels
}

func (r *relay) newGeneration(cfg configs.Config) (*generation, error) {
	decoder, err := cfg.Decoder()
	if err != nil {
		return nil, err
	}
	g := &generation{cfg: cfg}
	if g.tls, err = cfg.TLS(); err != nil {
		return nil, err
	}
	channels := pipeline.WithLanes(cfg.PipelineChannels(func(ch configs.Channel) notifier.Sender {
		return cfg.Sender(ch, r.preview)
	}))
	canary := cfg.Canary()
	if canary != nil {
		channels = append(channels, pipeline.CanaryChannel(canary, cfg.CanaryInterval))
	}
	limiter := r.engines.limiter
	for _, ch := range channels {
		g.levels = append(g.levels, ch.AllLevels()...)
	}
	g.status = pipeline.NewStatus(limiter, channels, r.engines.outages, r.engines.boxes[0])
	posts, edits, lookups := cfg.PerMinute()
	for _, box := range r.engines.boxes {
		g.couriers = append(g.couriers, pipeline.NewCourier(pipeline.CourierOptions{
			Outbox: box, Channels: channels, Operations: cfg.Operations(), Limiter: limiter, Metrics: r.metrics, Logger: r.log, Tracer: r.tracer,
			SendTimeout: cfg.SlackTimeout, Settle: settle(cfg), Budget: box, PostsPerMinute: posts,
			EditsPerMinute: edits, LookupsPerMinute: lookups,
		}))
	}
	g.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: limiter, Channels: channels, Metrics: r.metrics, Admitted: r.wake, Outbox: r.engines.boxes[0], Logger: r.log, Tracer: r.tracer,
		Silences: r.silencer,
	})
	if canary != nil {
		g.canary = pipeline.NewCanary(pipeline.CanaryOptions{
			Intake: g.intake, Status: g.status, Boxes: r.engines.outboxes(), Told: r.wake, Interval: cfg.CanaryInterval, Within: cfg.CanaryWithin,
			Metrics: r.canary, Logger: r.log,
		})
	}
	g.server = server.New(server.Options{
		Channels: cfg.ServerChannels(), Intake: g.intake, Decoder: decoder, Proxies: cfg.Proxies(), MaxConcurrent: int(cfg.MaxConcurrent), MaxBody: cfg.MaxBody, MaxInFlight: cfg.MaxInFlight,
		Status: g.status, Archive: &pipeline.Archive{Limiter: limiter, Outbox: r.engines.boxes[0], Intake: g.intake, Channels: channels},
		Admin:    &pipeline.Admin{Limiter: limiter, Outboxes: r.engines.outboxes(), Channels: channels, Woken: r.wake},
		Previews: previewed(channels), Silences: r.silencer, Config: r.reloader.state, Registry: r.registry, Logger: r.log, Tracer: r.tracer,
		AdminToken: string(cfg.AdminToken), Local: cfg.OpsIsLocal(), Guard: r.guard, WrongCredentialDelay: server.DefaultWrongCredentialDelay,
		NoTestLane: !cfg.TestLane, TraceStrangers: cfg.TraceRatio > 0,
	})
	g.public, g.ops = g.server.Public(), g.server.Ops()
	return g, nil
}

// run delivers until ctx ends, and finishes what is in hand.
func (g *generation) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { g.intake.Run(ctx) })
	for _, courier := range g.couriers {
		all.Go(func() { courier.Run(ctx) })
	}
	if g.canary != nil {
		all.Go(func() { g.canary.Run(ctx) })
	}
	all.Wait()
}

// preview shows a channel's messages where no Slack is configured. What it showed stays, whatever the configuration.
func (r *relay) preview(name string) notifier.Sender {
	if r.previews[name] == nil {
		r.previews[name] = notifier.NewPreview(name, r.console, previewKeeps)
	}
	return r.previews[name]
}

// previewed finds what the channels show whose messages are not sent.
func previewed(channels []pipeline.Channel) func(channel string) ([]notifier.Message, bool) {
	shown := map[string]*notifier.Preview{}
	for _, ch := range channels {
		if preview, ok := ch.Sender.(*notifier.Preview); ok {
			shown[ch.Name] = preview
		}
	}
	return func(channel string) ([]notifier.Message, bool) {
		preview, ok := shown[channel]
		if !ok {
			return nil, false
		}
		return preview.Messages(), true
	}
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
	for _, courier := range r.current.Load().couriers {
		courier.Wake(channel)
	}
}

// serveCurrent serves with the generation of the moment.
func (r *relay) serveCurrent(of func(*generation) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		of(r.current.Load()).ServeHTTP(w, request)
	})
}

func (e *engines) outboxes() []store.Outbox {
	all := make([]store.Outbox, len(e.boxes))
	for i, box := range e.boxes {
		all[i] = box
	}
	return all
}
