package app

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"time"

	"slackrelay/action"
	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/server"
	"slackrelay/store/memory"
)

// generation is what one configuration determines: the next one replaces it as a whole. The engines stay, and with them all
// that is counted and queued.
type generation struct {
	cfg        configs.Config
	tls        *tls.Config // of the public listener; nil = plain HTTP
	channels   []pipeline.Channel
	instances  *pipeline.Instances // the channels that templates made; nil = there are no templates
	registry   *pipeline.Registry  // of instances
	limiter    limiter
	server     *server.Server
	public     http.Handler
	ops        http.Handler
	intake     *pipeline.Intake
	alerts     *pipeline.Alerts
	archive    *pipeline.Archive
	silences   *pipeline.SilenceNotices
	heartbeats *pipeline.Heartbeats
	couriers   []*pipeline.Courier
	canary     *pipeline.Canary // nil = none
	handler    *action.Handler  // acts on clicks and commands
	operations notifier.Sender  // nil = the operators get no notices
	status     *pipeline.StatusReader
	checks     *pipeline.Destinations
}

func (r *Relay) newGeneration(cfg configs.Config) (*generation, error) {
	decoder, err := cfg.Decoder()
	if err != nil {
		return nil, err
	}
	g := &generation{cfg: cfg}
	if g.tls, err = cfg.TLS(); err != nil {
		return nil, err
	}
	senders := g.cfg.Senders(r.preview)
	g.operations = senders.Operations()
	g.channels = pipeline.WithTestLanes(cfg.PipelineChannels(senders))
	canary := senders.Canary()
	if canary != nil {
		g.channels = append(g.channels, pipeline.CanaryChannel(canary, cfg.CanaryInterval))
	}
	g.instances = pipeline.NewInstances(cfg.PipelineTemplates(senders), g.channels, r.instances, r.metrics)
	g.registry = r.instances
	g.limiter = r.engines.limiter
	g.status = pipeline.NewStatusReader(g.limiter, g.channels, r.engines.outages, r.engines.outbox)
	g.status.Include(g.instances)
	g.status.Watch(r.checks, map[string]notifier.Sender{"operations": g.operations, "the canary": canary})
	g.checks = r.checks
	g.heartbeats = pipeline.NewHeartbeats(pipeline.HeartbeatOptions{
		Heartbeats: cfg.SenderHeartbeats(), Channels: g.channels, Store: g.limiter, Memory: r.heartbeats, Logger: r.log, Wake: r.wake,
		Admit:    func(ctx context.Context, a pipeline.Arrival) (pipeline.Receipt, error) { return g.intake.Admit(ctx, a) },
		Outboxes: r.operationsOutboxes(g),
	})
	g.silences = pipeline.NewSilenceNotices(pipeline.SilenceNoticeOptions{
		Silences: r.silencer, Store: g.limiter, Outbox: r.engines.outbox, Wake: r.wake, Logger: r.log,
		Channel: func(name string) *pipeline.Channel { return g.intake.Channel(name) },
	})
	g.intake = pipeline.NewIntake(pipeline.IntakeOptions{
		Limiter: g.limiter, Channels: g.channels, Instances: g.instances, Metrics: r.metrics, Wake: r.wake, Outbox: r.engines.outbox,
		Logger: r.log, Tracer: r.tracer,
		Silences: r.silencer, SilenceNotices: g.silences, Heartbeats: g.heartbeats, Recorder: &r.recorder, Problems: g.limiter,
		Missed: &r.missed, Inhibitions: cfg.CompiledInhibitions(), Decisions: r.decisions,
	})
	g.alerts = pipeline.NewAlerts(pipeline.AlertsOptions{Intake: g.intake, Documents: g.limiter, Memory: r.alerts, Logger: r.log})
	g.archive = &pipeline.Archive{
		Limiter: g.limiter, Outbox: r.engines.outbox, Problems: g.limiter, Intake: g.intake, Channels: g.channels, Instances: g.instances,
		Destinations: r.checks,
	}
	g.handler = action.NewHandler(action.Options{
		Messages: r.engines.outbox, Archive: g.archive, Status: g.status, Silences: r.silencer, Wake: r.wake, Logger: r.log,
	})
	g.couriers = r.newCouriers(g)
	if canary != nil {
		g.canary = pipeline.NewCanary(pipeline.CanaryOptions{
			Intake: g.intake, Status: g.status, Outboxes: r.engines.notices, Wake: r.wake, Interval: cfg.CanaryInterval, Within: cfg.CanaryWithin,
			Metrics: r.canary, Logger: r.log,
		})
	}
	g.server = r.newServer(g, decoder)
	g.public = g.server.Public()
	g.ops = g.server.Ops()
	return g, nil
}

// levels returns the levels of all channels.
func (g *generation) levels() []ratelimit.Level {
	all := make([]ratelimit.Level, 0, 2*len(g.channels))
	for i := range g.channels {
		all = append(all, g.channels[i].AllLevels()...)
	}
	for _, ch := range g.instances.All() {
		all = append(all, ch.AllLevels()...)
	}
	return all
}

// newCouriers makes one courier for each outbox.
func (r *Relay) newCouriers(g *generation) []*pipeline.Courier {
	var couriers []*pipeline.Courier
	reminders := pipeline.NewReminders(pipeline.ReminderOptions{Intake: g.intake, Store: g.limiter, Outbox: r.engines.outbox})
	for _, queue := range r.engines.outboxes {
		opts := pipeline.CourierOptions{
			Outbox: queue, Channels: g.channels, Instances: g.instances, Operations: g.operations,
			Limiter: g.limiter, Metrics: r.metrics, Logger: r.log,
			Tracer: r.tracer, SendTimeout: g.cfg.SlackTimeout, LookupDelay: lookupDelay(g.cfg), Lease: g.cfg.Lease, Budget: queue,
			Counts: g.limiter, Destinations: r.checks, Deliveries: g.limiter, Decisions: r.decisions,
		}
		if queue == r.engines.outbox {
			opts.Promote = g.intake.Promote
			opts.Problems = g.intake.ProblemWork(g.limiter)
			opts.Problems.Handlers[pipeline.HeartbeatDocuments] = g.heartbeats.Wakeup
			opts.Problems.Handlers[pipeline.AlertOwner] = g.alerts.Expire
			opts.Problems.Handlers[pipeline.ReminderDocuments] = reminders.Wakeup
			opts.Reminders = reminders
			opts.Resumed = r.alerts.Interrupt
		} else {
			opts.RecheckEvery = -1 // no other process, and no older version, queues anything in the memory of this one
		}
		if local, ok := queue.(*memory.Store); ok { // most events are admitted to the shared outbox, and wake this courier too
			opts.HasWork = local.HasWork
		}
		couriers = append(couriers, pipeline.NewCourier(opts))
	}
	return couriers
}

func (r *Relay) newServer(g *generation, decoder *events.Decoder) *server.Server {
	cfg := g.cfg
	return server.New(server.Options{
		Channels: cfg.ServerChannels(), Intake: g.intake, Alerts: g.alerts, Decoder: decoder, Proxies: cfg.Proxies(),
		MaxConcurrent: int(cfg.MaxConcurrent),
		MaxBody:       cfg.MaxBody, MaxInFlight: cfg.MaxInFlight, Status: g.status,
		Archive: g.archive,
		Admin: &pipeline.Admin{
			Limiter: g.limiter, Outboxes: r.engines.pausers, Channels: g.channels, Instances: g.instances, Wake: r.wake,
			GaveBack: r.promoteOthers,
		},
		Previews: previewed(g.channels, g.instances), Silences: r.silencer, Heartbeats: g.heartbeats, Recorder: &r.recorder,
		Interactions: r.interactions,
		Config:       r.reloader.state, Registry: r.registry, Logger: r.log, Tracer: r.tracer,
		AdminToken: string(cfg.AdminToken), Local: cfg.OpsIsLocal(), Guard: r.guard, WrongCredentialDelay: server.DefaultWrongCredentialDelay,
		NoTestLane: !cfg.TestLane, TraceUnauthenticated: cfg.TraceRatio > 0,
	})
}

// run admits and delivers until ctx ends, and finishes what is in flight.
func (g *generation) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, courier := range g.couriers {
		all.Go(func() { courier.Run(ctx) })
	}
	if g.canary != nil {
		all.Go(func() { g.canary.Run(ctx) })
	}
	all.Go(func() { g.heartbeats.Run(ctx) })
	all.Go(func() { g.handler.Run(ctx) })
	all.Go(func() { g.checks.Run(ctx, g.targets) })
	all.Go(func() { g.silences.Run(ctx) })
	if g.instances != nil {
		all.Go(func() { g.instances.Run(ctx) })
		all.Go(func() { g.registry.Run(ctx) })
	}
	all.Wait()
}

// operationsOutboxes are where notices to the operators are queued; none without an operations destination.
func (r *Relay) operationsOutboxes(g *generation) []pipeline.NoticeQueue {
	if g.operations == nil {
		return nil
	}
	return r.engines.notices
}

// preview keeps the messages of a channel that has no Slack destination. It outlives reloads.
func (r *Relay) preview(name string) notifier.Sender {
	r.previewing.Lock()
	defer r.previewing.Unlock()
	if r.previews[name] == nil {
		r.previews[name] = notifier.NewPreview(name, r.opts.Stdout, previewCapacity)
	}
	return r.previews[name]
}

// previewed returns a lookup of the kept messages of channels that have no Slack destination; ok is false for all others.
func previewed(channels []pipeline.Channel, instances *pipeline.Instances) func(channel string) ([]notifier.Message, bool) {
	shown := map[string]*notifier.Preview{}
	for _, ch := range channels {
		if preview, ok := ch.Sender.(*notifier.Preview); ok {
			shown[ch.Name] = preview
		}
	}
	return func(channel string) ([]notifier.Message, bool) {
		preview, ok := shown[channel]
		if made, exists := instances.Find(channel); !ok && exists {
			preview, ok = made.Sender.(*notifier.Preview)
		}
		if !ok {
			return nil, false
		}
		return preview.Messages(), true
	}
}

// lookupDelay is how long after an attempt with an unknown outcome the message is looked up in Slack; negative = never.
func lookupDelay(cfg configs.Config) time.Duration {
	if cfg.SlackLookupDelay == 0 {
		return -1
	}
	return cfg.SlackLookupDelay
}

// wake makes every courier check the outbox of a channel.
func (r *Relay) wake(channel string) {
	for _, courier := range r.current.Load().couriers {
		courier.Wake(channel)
	}
}

// promoteOthers makes every courier decide the delayed events of the other channels in a channel's limit group again.
func (r *Relay) promoteOthers(channel string) {
	for _, courier := range r.current.Load().couriers {
		courier.PromoteOthers(channel)
	}
}

// recheck makes every courier check the outboxes of all channels.
func (r *Relay) recheck() {
	if g := r.current.Load(); g != nil {
		for _, courier := range g.couriers {
			courier.Recheck()
		}
	}
}
