package interaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"
)

// Times of a socket.
const (
	// firstRetry and lastRetry bound the delay before a socket is opened again; it doubles while sockets end early.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
	// refusedRetry is the delay after Slack refused the token: only a person can change that.
	refusedRetry = time.Minute
	// lives is how long a socket is open that did not end early.
	lives = 30 * time.Second
	// missedAfter is how long no replica has a socket until that is a reason in /readyz.
	missedAfter = time.Minute
)

// socketKey identifies the sockets of an app.
type socketKey struct{ appToken, apiURL string }

// socket is this replica's share in the sockets of an app.
type socket struct {
	receiver *Receiver
	key      socketKey
	cancel   context.CancelFunc
	ended    chan struct{}

	mu     sync.Mutex
	open   bool
	fault  string    // why Slack opens no socket; "" = it does, or was not asked
	seen   time.Time // when a replica last had one open
	nobody string    // why the others have none, as they say; "" = they do not
}

// serveSockets starts the sockets of apps that are new, and ends those of apps that are gone.
func (r *Receiver) serveSockets(ctx context.Context, apps []App) {
	wanted := map[socketKey]bool{}
	for _, app := range apps {
		key := socketKey{app.AppToken, app.APIURL}
		if app.AppToken == "" || ctx.Err() != nil {
			continue
		}
		wanted[key] = true
		if r.sockets[key] == nil {
			r.start(ctx, key)
		}
	}
	r.mu.Lock()
	var gone []*socket
	for key, s := range r.sockets {
		if !wanted[key] {
			gone = append(gone, s)
			delete(r.sockets, key)
		}
	}
	r.mu.Unlock()
	for _, s := range gone {
		s.cancel()
	}
	for _, s := range gone {
		<-s.ended
	}
}

// start serves the sockets of an app until its cancel is called.
func (r *Receiver) start(ctx context.Context, key socketKey) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &socket{receiver: r, key: key, cancel: cancel, ended: make(chan struct{}), seen: time.Now()}
	r.mu.Lock()
	r.sockets[key] = s
	r.mu.Unlock()
	go func() {
		defer close(s.ended)
		s.run(ctx)
	}()
}

// app returns the app of the socket as it is configured now; ok is false if it no longer is.
func (s *socket) app() (app App, ok bool) {
	for _, app := range s.receiver.current.Load().apps {
		if app.AppToken == s.key.appToken && app.APIURL == s.key.apiURL {
			return app, true
		}
	}
	return App{}, false
}

// run holds a socket whenever this replica has a lease, until ctx ends.
func (s *socket) run(ctx context.Context) {
	sum := sha256.Sum256([]byte(s.key.appToken)) // replicas agree on it, and it tells nothing
	l := newLease(s.receiver.opts.Documents, s.receiver.opts.Owner, hex.EncodeToString(sum[:8]))
	defer l.release(ctx)
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	stop := func() {}
	defer func() { stop() }()
	for held := false; ; {
		others, err := l.keep(ctx, s.holding())
		if err != nil && ctx.Err() == nil {
			s.receiver.opts.Logger.DebugContext(ctx, "lease of a socket not renewed", "error", err)
		}
		s.note(others, err == nil)
		if l.held() != held {
			held = !held
			stop()
			stop = func() {}
			if held {
				stop = s.hold(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// hold keeps a socket open until stop is called, which waits for the end.
func (s *socket) hold(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.reopen(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// reopen opens a socket each time that one ended, until ctx ends.
func (s *socket) reopen(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		started := time.Now()
		err := s.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lives {
			retry = firstRetry
		}
		delay := retry/2 + rand.N(retry) //nolint:gosec // spreads replicas, and is no secret
		retry = min(2*retry, lastRetry)
		if s.setFault(ctx, err) {
			delay = refusedRetry
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}
