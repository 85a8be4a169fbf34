package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/configs"
	"slackrelay/pipeline"
	"slackrelay/server"
)

// reloader puts a changed configuration into effect: when its file or one that it names changes, and on SIGHUP. The new one
// is validated first; an invalid one changes nothing.
type reloader struct {
	relay   *Relay
	files   *fileWatcher
	info    *prometheus.GaugeVec
	good    prometheus.Gauge
	applied prometheus.Gauge

	known atomic.Pointer[server.ConfigState] // read while a reload waits for messages in flight

	mu     sync.Mutex
	frozen bool // no reload any more
	task   task // delivers with the current generation
	hangup chan os.Signal
}

func newReloader(r *Relay) *reloader {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	l := &reloader{
		relay: r, frozen: r.opts.Config != nil, hangup: make(chan os.Signal, 1),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "relay_config_info", Help: "1, with a hash of the configuration in effect; replicas that show different ones differ in it.",
		}, []string{"hash"}),
		good:    gauge("relay_config_last_reload_successful", "1 where the configuration that was read last is in effect."),
		applied: gauge("relay_config_last_reload_success_timestamp_seconds", "When a configuration was last put into effect."),
	}
	r.registry.MustRegister(l.info, l.good, l.applied)
	l.files = newFileWatcher(l.path(), r.log)
	l.files.changed(r.started)
	l.setApplied(r.started, nil)
	return l
}

// path is the configuration file; "" = there is none.
func (l *reloader) path() string {
	if l.relay.opts.Config != nil {
		return ""
	}
	return l.relay.opts.Flags.Path()
}

// handleHangup makes SIGHUP ask for a reload from now on: unhandled, it would end the process.
func (l *reloader) handleHangup() (stop func()) {
	signal.Notify(l.hangup, syscall.SIGHUP)
	return func() { signal.Stop(l.hangup) }
}

// state is which configuration is in effect, and why a newer one is not.
func (l *reloader) state() server.ConfigState { return *l.known.Load() }

// setApplied publishes that a configuration is in effect.
func (l *reloader) setApplied(cfg configs.Config, restart []string) {
	state := server.ConfigState{File: l.path(), Hash: cfg.Hash(), LoadedAt: time.Now().UTC(), RestartNeeded: append([]string{}, restart...)}
	l.known.Store(&state)
	l.info.Reset()
	l.info.WithLabelValues(state.Hash).Set(1)
	l.good.Set(1)
	l.applied.SetToCurrentTime()
}

// setRejected publishes that the newest configuration is not in effect, and why.
func (l *reloader) setRejected(err error) {
	state := l.state()
	state.Reload = &server.FailedReload{At: time.Now().UTC(), Error: err.Error()}
	l.known.Store(&state)
	l.good.Set(0)
}

// run delivers with the current generation, and replaces it, until ctx ends.
func (l *reloader) run(ctx context.Context) {
	l.mu.Lock()
	l.start(ctx)
	changed, stop := l.files.watch(ctx, l.relay.current.Load().cfg)
	l.mu.Unlock()
	defer stop()
	poll := time.NewTicker(pollFiles)
	defer poll.Stop()
	l.reload(ctx, false) // what changed before it was watched
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.hangup:
			l.reload(ctx, true)
		case <-changed:
			l.reload(ctx, false)
		case <-poll.C:
			l.reload(ctx, false)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task.stop() //nolint:errcheck // it returns none
}

// start delivers with the current generation. The caller holds mu.
func (l *reloader) start(ctx context.Context) {
	g := l.relay.current.Load()
	l.task = newTask(ctx, func(ctx context.Context) error {
		g.run(ctx)
		return nil
	})
}

// freeze keeps the current configuration until the relay stops.
func (l *reloader) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

// reload loads the configuration and puts it into effect if it is valid and either changed or was requested.
func (l *reloader) reload(ctx context.Context, requested bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen || !l.files.changed(l.relay.current.Load().cfg) && !requested {
		return
	}
	next, err := l.load()
	if err != nil {
		l.relay.log.ErrorContext(ctx, "configuration rejected: the previous one stays in effect", "error", err)
		l.setRejected(err)
		return
	}
	for _, warning := range next.warnings {
		l.relay.log.WarnContext(ctx, "configuration warning", "warning", warning)
	}
	l.replace(ctx, next.generation)
	l.setApplied(next.cfg, next.restart)
	l.files.changed(next.cfg)
	l.files.add(ctx, next.cfg)
	releaseMemory()
	channels := next.status.Channels()
	l.relay.log.InfoContext(ctx, "configuration reloaded", "hash", l.state().Hash, "channels", len(channels),
		"first_channels", firstOf(channels))
	if len(next.restart) > 0 {
		l.relay.log.WarnContext(ctx, "restart needed for some settings", "settings", next.restart)
	}
}

// loaded is a generation that can be put into effect.
type loaded struct {
	*generation
	restart  []string // settings that keep their values until a restart
	warnings []string
}

// load loads and validates the configuration together with what must stay as it was, and makes a generation of it.
func (l *reloader) load() (loaded, error) {
	fresh, err := configs.Load(l.relay.opts.Flags)
	if err != nil {
		return loaded{}, err
	}
	cfg := fresh.Config
	restart := cfg.KeepWhatNeedsRestart(l.relay.started)
	faults, warnings := cfg.Follow(l.relay.current.Load().cfg)
	if err := fresh.Invalid(append(cfg.Validate(), faults...)); err != nil {
		return loaded{}, err
	}
	g, err := l.relay.newGeneration(cfg)
	return loaded{generation: g, restart: restart, warnings: append(fresh.Warnings, warnings...)}, err
}

// replace puts a generation in the place of the previous one. New webhooks go to it at once; it delivers as soon as the
// previous one has finished the messages in flight.
func (l *reloader) replace(ctx context.Context, g *generation) {
	if replica := l.relay.replica; replica != nil {
		replica.SetLevels(g.levels()) // first: no window is forgotten that other replicas still count in
		replica.SetPolicies(g.cfg.Policies())
	}
	before := l.relay.current.Swap(g)
	before.server.Retire()
	l.relay.interactions.Configure(g.cfg.Apps(), g.handler)
	l.task.stop() //nolint:errcheck // it returns none
	l.start(ctx)
	l.logRemovedChannels(ctx, before.status, g.status.Channels())
}

// logRemovedChannels names the channels that are no longer configured: their webhooks are answered 404, and their pending
// messages stay in the outbox.
func (l *reloader) logRemovedChannels(ctx context.Context, before *pipeline.StatusReader, now []string) {
	configured := make(map[string]bool, len(now))
	for _, name := range now {
		configured[name] = true
	}
	for _, name := range before.Channels() {
		if configured[name] {
			continue
		}
		const message = "channel removed: its webhooks are answered 404, its pending messages are kept until it returns"
		status, err := before.Channel(ctx, name)
		if err != nil {
			l.relay.log.WarnContext(ctx, message, "channel", name, "messages", "unknown", "error", err)
			continue
		}
		l.relay.log.WarnContext(ctx, message, "channel", name, "messages", status.Ledger.Pending)
	}
}
