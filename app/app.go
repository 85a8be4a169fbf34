// Package app makes a running relay from a configuration. It connects the rooms (wire.go), builds what one configuration
// determines (generation.go), replaces it when the configuration changes (reload.go), and starts and stops everything in
// order (serve.go).
//
// It is the only package that knows all the others, and it decides nothing about events: limits, rules and messages live
// in their own rooms. Run also sets what Go keeps per process: the handler of SIGHUP, the memory limit, and the error
// loggers of go-redis and OpenTelemetry.
package app

import (
	"context"
	"io"
	"log/slog"

	"slackrelay/configs"
)

// Options describe a relay. The zero value loads the configuration as relay serve does, and prints nothing.
//
//	err := app.Run(ctx, app.Options{
//		Flags:  configs.Flags{File: "relay.yaml"},
//		Stdout: os.Stdout,
//		Stderr: os.Stderr,
//	})
type Options struct {
	// Flags name the sources of the configuration. It is loaded at the start, and again when one of its files changes and
	// on SIGHUP.
	Flags configs.Flags
	// Config is used instead of what Flags name, and is never reloaded. It must be valid. nil = load what Flags name.
	Config *configs.Config
	// Version appears in the log, in relay_build_info and in traces. Empty = "development".
	Version string
	// Stdout shows the messages of channels that have no Slack destination. nil = they are kept for the dashboard only.
	Stdout io.Writer
	// Stderr receives the log in the format, and from the level, that the configuration sets. nil = no log.
	Stderr io.Writer
	// Logger replaces the logger on Stderr. Its lines are neither sampled nor counted. nil = the one on Stderr.
	Logger *slog.Logger
	// Speed is how many times faster than the wall clock a relay without Redis counts time. 0 and 1 = the wall clock.
	Speed float64
}

// Run runs a relay until ctx ends, and returns after it has stopped: see [Relay.Run] for the order. An error that
// [configs.IsInvalid] accepts means that the configuration must be changed.
func Run(ctx context.Context, opts Options) error {
	r, err := New(ctx, opts)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// New assembles a relay, checks Redis, and opens both listeners: connections wait in them until Run serves. The caller must
// call Run, which releases what New opened.
func New(ctx context.Context, opts Options) (*Relay, error) {
	loaded, err := opts.load()
	if err != nil {
		return nil, err
	}
	r := newRelay(loaded.Config, opts)
	for _, warning := range append(loaded.UnknownVariables, loaded.Warnings...) {
		r.log.WarnContext(ctx, "configuration warning", "warning", warning)
	}
	limitMemory(ctx, r.log)
	raiseSmallHeap()
	if err := r.open(ctx); err != nil {
		r.close(ctx)
		return nil, err
	}
	releaseMemory()
	return r, nil
}

func (o Options) load() (configs.Loaded, error) {
	if o.Config != nil {
		return configs.Loaded{Config: *o.Config}, nil
	}
	return configs.Load(o.Flags)
}

// open starts what can fail, in the order in which a failure is cheapest.
func (r *Relay) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.openTraces, r.openDecisionLog, r.assemble, r.probe, r.listen} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close releases what open opened. What cannot be released any more is not reported: the relay has stopped.
func (r *Relay) close(ctx context.Context) {
	for _, listener := range []io.Closer{r.public, r.ops} {
		if listener != nil {
			_ = listener.Close() // server.Serve has closed it already where it served
		}
	}
	if r.redis != nil {
		_ = r.redis.Close()
	}
	r.flushTraces(ctx)
	r.closeDecisionLog(ctx)
}
