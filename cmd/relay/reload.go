package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/configs"
	"slackrelay/pipeline"
	"slackrelay/server"
)

// reloader puts a changed configuration into effect: when the file changes, or one that it names, and on SIGHUP. It is
// validated first; a bad one changes nothing.
type reloader struct {
	relay   *relay
	flags   configs.Flags
	info    *prometheus.GaugeVec
	good    prometheus.Gauge
	applied prometheus.Gauge

	known atomic.Pointer[server.ConfigState] // read while a reload waits for what is in hand

	mu       sync.Mutex
	seen     string            // the contents of the files at the last look
	stopping bool              // it stays as it is
	task     task              // delivers
	watcher  *fsnotify.Watcher // nil = nothing is watched
	hangup   chan os.Signal
}

// How files are watched: soon after they change, when several change together; and now and then, where the system does not tell.
const (
	settleFiles = 100 * time.Millisecond
	lookAgain   = 30 * time.Second
)

func newReloader(r *relay, flags configs.Flags, fixed bool) *reloader {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	l := &reloader{
		relay: r, flags: flags, stopping: fixed, hangup: make(chan os.Signal, 1),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "relay_config_info", Help: "1, with a hash of the configuration in effect; replicas that show different ones differ in it.",
		}, []string{"hash"}),
		good:    gauge("relay_config_last_reload_successful", "1 where the configuration that was read last is in effect."),
		applied: gauge("relay_config_last_reload_success_timestamp_seconds", "When a configuration was last put into effect."),
	}
	r.registry.MustRegister(l.info, l.good, l.applied)
	l.took(r.started, nil)
	l.seen = l.contents(r.started)
	return l
}

// listen has SIGHUP ask for a reload, from now on: a signal that nobody listens to would end the process.
func (l *reloader) listen() (stop func()) {
	signal.Notify(l.hangup, syscall.SIGHUP)
	return func() { signal.Stop(l.hangup) }
}

// state is how the configuration stands.
func (l *reloader) state() server.ConfigState { return *l.known.Load() }

// took notes that a configuration is in effect.
func (l *reloader) took(cfg configs.Config, restart []string) {
	state := server.ConfigState{File: l.flags.Path(), Hash: cfg.Hash(), LoadedAt: time.Now().UTC(), RestartNeeded: append([]string{}, restart...)}
	l.known.Store(&state)
	l.info.Reset()
	l.info.WithLabelValues(state.Hash).Set(1)
	l.good.Set(1)
	l.applied.SetToCurrentTime()
}

// run delivers with the generation of the moment, and replaces it, until ctx ends.
func (l *reloader) run(ctx context.Context) {
	l.mu.Lock()
	l.start(ctx)
	l.mu.Unlock()
	changed, stop := l.watch(ctx)
	defer stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	l.reload(ctx, false) // what changed before it was watched
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.hangup:
			l.reload(ctx, true)
		case <-changed:
			l.reload(ctx, false)
		case <-again.C:
			l.reload(ctx, false)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task.stop() //nolint:errcheck // it answers none
}

// start delivers with the generation of the moment. The caller holds mu.
func (l *reloader) start(ctx context.Context) {
	g := l.relay.current.Load()
	l.task = newTask(ctx, func(ctx context.Context) error {
		g.run(ctx)
		return nil
	})
}

// stay keeps the configuration as it is from now on.
func (l *reloader) stay() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
}

// reload reads the configuration, and puts it into effect where it is valid, and changed or asked for.
func (l *reloader) reload(ctx context.Context, asked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	contents := l.contents(l.relay.current.Load().cfg)
	if l.stopping || contents == l.seen && !asked {
		return
	}
	l.seen = contents
	log := l.relay.log
	loaded, err := configs.Load(l.flags)
	var g *generation
	var restart []string
	if err == nil {
		restart = loaded.Config.KeepWhatNeedsRestart(l.relay.started)
		faults, lost := loaded.Config.Follow(l.relay.current.Load().cfg)
		loaded.Warnings = append(loaded.Warnings, lost...)
		if faults = append(loaded.Config.Validate(), faults...); len(faults) > 0 { // with what is kept
			err = &configs.InvalidError{Faults: faults}
		}
	}
	if err == nil {
		g, err = l.relay.newGeneration(loaded.Config)
	}
	if err != nil {
		log.ErrorContext(ctx, "the configuration cannot be used; the one before stays in effect", "error", err)
		state := l.state()
		state.Reload = &server.FailedReload{At: time.Now().UTC(), Error: err.Error()}
		l.known.Store(&state)
		l.good.Set(0)
		return
	}
	for _, warning := range loaded.Warnings {
		log.WarnContext(ctx, "configuration", "warning", warning)
	}
	l.replace(ctx, g)
	l.took(g.cfg, restart)
	l.seen = l.contents(g.cfg)
	l.watchFiles(ctx)
	log.InfoContext(ctx, "configuration reloaded", "hash", l.state().Hash, "channels", g.status.Channels())
	if len(restart) > 0 {
		log.WarnContext(ctx, "some settings take effect with a restart only", "settings", restart)
	}
}

// replace puts a generation in the place of the one before. Webhooks go to it at once; then the one before finishes what it
// has in hand, and this one goes on.
func (l *reloader) replace(ctx context.Context, g *generation) {
	if shared := l.relay.shared; shared != nil {
		shared.SetLevels(g.levels) // first: no window is forgotten that other replicas still count in
		shared.SetPolicies(g.cfg.Policies())
	}
	before := l.relay.current.Swap(g)
	before.server.Retire()
	l.task.stop() //nolint:errcheck // it answers none
	l.start(ctx)
	l.sayWhatIsGone(ctx, before.status, g.status.Channels())
}

// sayWhatIsGone names the channels that are no longer configured: their senders are refused, and what waits in them stays.
func (l *reloader) sayWhatIsGone(ctx context.Context, before *pipeline.Status, now []string) {
	for _, name := range before.Channels() {
		if slices.Contains(now, name) {
			continue
		}
		const said = "channel removed from the configuration; its webhooks are answered 404, and its pending messages are kept until it is back"
		status, err := before.Channel(ctx, name)
		if err != nil {
			l.relay.log.WarnContext(ctx, said, "channel", name, "messages", "unknown", "error", err)
			continue
		}
		l.relay.log.WarnContext(ctx, said, "channel", name, "messages", status.Ledger.Pending)
	}
}

// contents stands for what the files of a configuration hold.
func (l *reloader) contents(cfg configs.Config) string {
	sum := sha256.New()
	for _, file := range l.files(cfg) {
		content, err := os.ReadFile(file)
		fmt.Fprintf(sum, "%s %d %v\n", file, len(content), err)
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (l *reloader) files(cfg configs.Config) []string {
	files := cfg.Files()
	if path := l.flags.Path(); path != "" {
		files = append(files, path)
	}
	return files
}

// watch tells when something changes in the directories of the files: Kubernetes swaps a link (..data) there, and editors
// put a new file in the place of the old one.
func (l *reloader) watch(ctx context.Context) (changed <-chan time.Time, stop func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		l.relay.log.WarnContext(ctx, "changes of files are seen late", "error", err)
		return nil, func() {}
	}
	l.mu.Lock()
	l.watcher = watcher
	l.watchFiles(ctx)
	l.mu.Unlock()
	settled := time.NewTimer(time.Hour)
	settled.Stop()
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for range watcher.Events {
			settled.Reset(settleFiles)
		}
	})
	forwarding.Go(func() {
		for range watcher.Errors { // what is missed is seen later
		}
	})
	return settled.C, func() {
		watcher.Close()
		settled.Stop()
		forwarding.Wait()
	}
}

// watchFiles watches the directories of all files that count now. The caller holds mu.
func (l *reloader) watchFiles(ctx context.Context) {
	if l.watcher == nil {
		return
	}
	for _, file := range l.files(l.relay.current.Load().cfg) {
		if err := l.watcher.Add(filepath.Dir(file)); err != nil {
			l.relay.log.WarnContext(ctx, "changes of a file are seen late", "file", file, "error", err)
		}
	}
}

// encrypted makes a listener speak TLS as the generation of the moment has it.
func (r *relay) encrypted(plain net.Listener) net.Listener {
	first := r.current.Load().tls
	if first == nil {
		return plain
	}
	return tls.NewListener(plain, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: first.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current.Load().tls, nil },
	})
}
