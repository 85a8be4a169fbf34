package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"slackrelay/server"
)

// grace is how long requests in flight may take to end when the relay stops.
const grace = 10 * time.Second

// listen opens both listeners before anything else starts, so that a taken port fails at once.
func (r *Relay) listen(ctx context.Context) error {
	var lc net.ListenConfig
	var err error
	if r.public, err = lc.Listen(ctx, "tcp", r.started.Listen); err != nil {
		return fmt.Errorf("listen for webhooks: %w; set RELAY_LISTEN to another address", err)
	}
	if r.ops, err = lc.Listen(ctx, "tcp", r.started.OpsListen); err != nil {
		return fmt.Errorf("listen for ops: %w; set RELAY_OPS_LISTEN to another address", err)
	}
	return nil
}

// PublicAddr is the address that accepts webhooks.
func (r *Relay) PublicAddr() net.Addr { return r.public.Addr() }

// OpsAddr is the address of the ops endpoints and the dashboard.
func (r *Relay) OpsAddr() net.Addr { return r.ops.Addr() }

// Run serves until ctx ends or a listener fails, and returns when everything has stopped, in this order: no longer ready, no
// more webhooks, the messages that the couriers are sending, the ops listener. Each step ends before the next one begins. Run
// may be called once.
func (r *Relay) Run(ctx context.Context) error {
	defer r.close(ctx)
	defer r.reloader.handleHangup()()
	options := server.ServeOptions{Logger: r.log, Grace: grace, ReadTimeout: r.started.ReadTimeout}
	ingress := r.serve(ctx, r.encrypted(r.public), func(g *generation) http.Handler { return g.public }, options)
	background := newTask(ctx, r.runBackground)
	delivery := newTask(ctx, func(ctx context.Context) error {
		r.reloader.run(ctx)
		return nil
	})
	options.Stopping = func() { r.current.Load().server.Retire() } // it ends the streams of the dashboard
	ops := r.serve(ctx, r.ops, func(g *generation) http.Handler { return g.ops }, options)
	channels := r.Status().Channels()
	r.log.InfoContext(ctx, "relay started", "listen", r.public.Addr(), "ops_listen", r.ops.Addr(), "channels", len(channels),
		"first_channels", firstOf(channels), "durable", r.Status().Durable(), "redis", r.started.RedisAddress(), "version", r.version)

	var failed error
	select {
	case <-ctx.Done():
		r.drain(ctx)
	case failed = <-ingress.done:
	case failed = <-ops.done:
	}
	err := errors.Join(failed, ingress.stop(), delivery.stop(), background.stop())
	r.countLastDrops(ctx)
	r.warnOfLostMessages(ctx)
	err = errors.Join(err, ops.stop())
	r.log.InfoContext(ctx, "relay stopped")
	return err
}

// serve answers each request with the handler of the generation that is current when it arrives.
func (r *Relay) serve(ctx context.Context, on net.Listener, of func(*generation) http.Handler, opts server.ServeOptions) task {
	handler := func(w http.ResponseWriter, request *http.Request) { of(r.current.Load()).ServeHTTP(w, request) }
	return newTask(ctx, func(ctx context.Context) error {
		return server.Serve(ctx, on, http.HandlerFunc(handler), opts)
	})
}

// encrypted returns a listener that speaks TLS with the certificates of the current generation.
func (r *Relay) encrypted(plain net.Listener) net.Listener {
	first := r.current.Load().tls
	if first == nil {
		return plain
	}
	return tls.NewListener(plain, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: first.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current.Load().tls, nil },
	})
}

// runBackground runs what lives as long as the process and has no place in a generation.
func (r *Relay) runBackground(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { r.silencer.Run(ctx) })
	all.Go(func() { r.probeUntilServed(ctx) })
	all.Go(func() { r.interactions.Run(ctx) })
	if r.replica != nil {
		all.Go(func() { r.replica.Run(ctx) })
	}
	all.Wait()
	return nil
}

// drain leaves time for load balancers to see that this replica is no longer ready.
func (r *Relay) drain(ctx context.Context) {
	r.reloader.freeze()
	g := r.current.Load()
	g.server.Drain()
	r.log.InfoContext(ctx, "draining", "for", g.cfg.Drain)
	<-time.After(g.cfg.Drain)
}

// countLastDrops adds the drops that this replica decided by itself to the ledger in Redis.
func (r *Relay) countLastDrops(ctx context.Context) {
	if r.replica == nil {
		return
	}
	if err := r.replica.Close(ctx); err != nil {
		r.log.WarnContext(ctx, "last drops not counted", "error", err)
	}
}

// warnOfLostMessages concerns relays without Redis only: Redis keeps what is pending.
func (r *Relay) warnOfLostMessages(ctx context.Context) {
	if r.Status().Durable() {
		return
	}
	reading, err := r.Status().Reading(context.WithoutCancel(ctx))
	if err != nil {
		return // memory does not fail
	}
	for _, status := range reading.Channels {
		if status.Ledger.Pending > 0 {
			r.log.WarnContext(ctx, "admitted messages lost: redis_url is not set", "channel", status.Channel, "messages", status.Ledger.Pending)
		}
	}
}

// task is a goroutine with an owner, who stops it and waits for its end.
type task struct {
	cancel context.CancelFunc
	done   chan error
}

// newTask runs f until stop is called. The end of ctx does not end it, so that the owner decides the order.
func newTask(ctx context.Context, f func(ctx context.Context) error) task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := task{cancel: cancel, done: make(chan error, 1)}
	go func() {
		defer close(t.done)
		t.done <- f(ctx)
	}()
	return t
}

// stop ends the task and returns its error, once.
func (t task) stop() error {
	t.cancel()
	return <-t.done
}
