package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServeOptions bound the connections of a listener.
type ServeOptions struct {
	// ReadTimeout is how long a request may take to arrive; its headers may take a third of that. Default:
	// [DefaultReadTimeout].
	ReadTimeout time.Duration
	// Stopping is called when ctx ends, before Serve waits for the requests in flight; nil = nothing is called.
	Stopping func()
	// Grace is how long Serve waits for the requests in flight after ctx ended; 0 = it does not wait.
	Grace  time.Duration
	Logger *slog.Logger
}

// DefaultReadTimeout is the default of ServeOptions.ReadTimeout. It keeps a slow sender from occupying a connection for ever.
const DefaultReadTimeout = 15 * time.Second

const (
	headersShare = 3
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	maxHeader    = 32 << 10
)

// Serve serves a handler on a listener until ctx ends. Then it accepts no new connections, waits up to opts.Grace for the
// requests in flight, closes what is left, and returns.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, opts ServeOptions) error {
	if opts.ReadTimeout == 0 {
		opts.ReadTimeout = DefaultReadTimeout
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: opts.ReadTimeout / headersShare,
		ReadTimeout:       opts.ReadTimeout,
		WriteTimeout:      opts.ReadTimeout + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	if opts.Stopping != nil {
		opts.Stopping()
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Grace)
	defer cancel()
	err := server.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("stop serving %s: %w", listener.Addr(), err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
