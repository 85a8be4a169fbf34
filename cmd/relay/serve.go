package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
	"slackrelay/server"
)

// grace is how long requests in hand may take to end when the relay stops.
const grace = 10 * time.Second

func newServe() *cobra.Command {
	var flags configs.Flags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the relay",
		Long: "Run the relay until SIGTERM or SIGINT. It then answers 503 on /readyz, takes webhooks for RELAY_DRAIN\n" +
			"more, finishes what it has in hand and exits. A second signal ends it at once.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), flags, cmd)
		},
	}
	addConfigFlags(cmd, &flags)
	cmd.Flags().StringVar(&flags.Listen, "listen", "", "where webhooks are taken, host:port")
	cmd.Flags().StringVar(&flags.OpsListen, "ops-listen", "", "health, metrics and API, host:port")
	cmd.Flags().StringVar(&flags.RedisURL, "redis-url", "", "redis://host:port/0; a password is better kept in RELAY_REDIS_URL_FILE")
	return cmd
}

func addConfigFlags(cmd *cobra.Command, flags *configs.Flags) {
	cmd.Flags().StringVarP(&flags.File, "config", "c", "", "YAML file (default RELAY_CONFIG)")
}

func serve(ctx context.Context, flags configs.Flags, cmd *cobra.Command) error {
	loaded, err := configs.Load(flags)
	if err != nil {
		return err
	}
	log, suppressed := newLogger(loaded.Config, cmd.ErrOrStderr())
	for _, warning := range append(loaded.UnknownVariables, loaded.Warnings...) {
		log.WarnContext(ctx, "configuration", "warning", warning)
	}
	limitMemory(ctx, log)
	tracer, flush, err := newTraces(ctx, loaded.Config, log)
	if err != nil {
		return err
	}
	defer flush(ctx)
	r, err := assemble(loaded.Config, surroundings{log: log, lines: suppressed, tracer: tracer, console: cmd.OutOrStdout(), flags: flags})
	if err != nil {
		return err
	}
	defer r.close() //nolint:errcheck // the process ends
	if err := r.probe(ctx); err != nil {
		return err
	}
	public, ops, err := r.listen(ctx)
	if err != nil {
		return err
	}
	return r.serve(ctx, public, ops)
}

// listen opens both listeners before anything else starts, so that a taken port fails at once.
func (r *relay) listen(ctx context.Context) (public, ops net.Listener, err error) {
	var lc net.ListenConfig
	public, err = lc.Listen(ctx, "tcp", r.started.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for webhooks: %w; set RELAY_LISTEN to another address", err)
	}
	ops, err = lc.Listen(ctx, "tcp", r.started.OpsListen)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen for ops: %w; set RELAY_OPS_LISTEN to another address", err), public.Close())
	}
	return public, ops, nil
}

// serve runs until ctx ends, then stops in this order: no longer ready, no more webhooks, what the courier
// has in hand, the ops listener. Each step ends before the next one begins.
func (r *relay) serve(ctx context.Context, public, ops net.Listener) error {
	defer r.reloader.listen()()
	takes := newTask(ctx, func(ctx context.Context) error {
		return server.Serve(ctx, r.encrypted(public), r.serveCurrent(func(g *generation) http.Handler { return g.public }), r.serveOptions())
	})
	lives := newTask(ctx, func(ctx context.Context) error {
		var all sync.WaitGroup
		all.Go(func() { r.silencer.Run(ctx) })
		if r.shared != nil {
			all.Go(func() { r.shared.Run(ctx) })
		}
		all.Wait()
		return nil
	})
	delivers := newTask(ctx, func(ctx context.Context) error {
		r.reloader.run(ctx)
		return nil
	})
	answers := newTask(ctx, func(ctx context.Context) error {
		return server.Serve(ctx, ops, r.serveCurrent(func(g *generation) http.Handler { return g.ops }), r.opsOptions())
	})
	r.log.InfoContext(ctx, "relay started", "listen", public.Addr(), "ops_listen", ops.Addr(),
		"channels", r.status().Channels(), "durable", r.status().Durable(), "redis", r.started.RedisAddress(), "version", versionText())

	var failed error
	select {
	case <-ctx.Done():
		r.drain(ctx)
	case failed = <-takes.done:
	case failed = <-answers.done:
	}
	err := errors.Join(failed, takes.stop(), delivers.stop(), lives.stop())
	if r.shared != nil {
		if closeErr := r.shared.Close(ctx); closeErr != nil {
			r.log.WarnContext(ctx, "the last drops were not counted in Redis", "error", closeErr)
		}
	}
	r.sayWhatIsLost(ctx)
	err = errors.Join(err, answers.stop())
	r.log.InfoContext(ctx, "relay stopped")
	return err
}

func (r *relay) serveOptions() server.ServeOptions {
	return server.ServeOptions{Logger: r.log, Grace: grace, ReadTimeout: r.started.ReadTimeout}
}

// opsOptions end the streams of the dashboard when the relay stops.
func (r *relay) opsOptions() server.ServeOptions {
	opts := r.serveOptions()
	opts.Stopping = func() { r.current.Load().server.Retire() }
	return opts
}

// drain leaves time for load balancers to see that this replica is no longer ready.
func (r *relay) drain(ctx context.Context) {
	r.reloader.stay()
	g := r.current.Load()
	g.server.Drain()
	r.log.InfoContext(ctx, "draining: webhooks are still taken", "for", g.cfg.Drain)
	<-time.After(g.cfg.Drain)
}

// sayWhatIsLost is for the in-memory engines only: Redis keeps what is pending.
func (r *relay) sayWhatIsLost(ctx context.Context) {
	if r.status().Durable() {
		return
	}
	all, err := r.status().All(context.WithoutCancel(ctx))
	if err != nil {
		return // memory does not fail
	}
	for _, status := range all {
		if status.Ledger.Pending > 0 {
			r.log.WarnContext(ctx, "messages that were admitted but not sent are lost: no Redis is configured",
				"channel", status.Channel, "messages", status.Ledger.Pending)
		}
	}
}

// task is a goroutine with an owner, who stops it and waits for its end.
type task struct {
	cancel context.CancelFunc
	done   chan error
}

func newTask(ctx context.Context, f func(ctx context.Context) error) task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := task{cancel: cancel, done: make(chan error, 1)}
	go func() {
		defer close(t.done)
		t.done <- f(ctx)
	}()
	return t
}

// stop ends the task and answers its error, once.
func (t task) stop() error {
	t.cancel()
	return <-t.done
}
