// Package server is the relay's HTTP: the public listener that takes webhooks, and the ops listener with
// health, metrics and the API. It knows neither Redis nor Slack.
package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
)

// taker takes events in; *pipeline.Intake does.
type taker interface {
	Take(ctx context.Context, a pipeline.Arrival) (pipeline.Receipt, error)
}

// Channel is what the public listener knows of a channel.
type Channel struct {
	Name string
	// SlackName is Slack's name or id of it, by which tools that speak Slack may call it; "" = none.
	SlackName string
	// IngressToken is the bearer token that senders must present; "" = everybody may send, where no credential is needed
	// either.
	IngressToken string
	// Credentials are further ways in; any is enough.
	Credentials []Credential
	// AllowFrom are the addresses that may send; empty = all.
	AllowFrom []netip.Prefix
	// Throttled are the sources that are answered 429 when all events of a webhook were dropped.
	Throttled []string
}

// Options configure a Server.
type Options struct {
	Channels []Channel
	Intake   taker
	// Decoder reads bodies. Default: with the default limits, and without mappings.
	Decoder *events.Decoder
	// Proxies are trusted to say in X-Forwarded-For where a request comes from.
	Proxies []netip.Prefix
	// MaxConcurrent is how many webhooks one address may have in hand at a time. Default 256.
	MaxConcurrent int
	// Transport asks Amazon SNS for certificates. Default: http.DefaultTransport.
	Transport http.RoundTripper
	// SNSRoots are the authorities that the certificates of Amazon SNS are verified with. Default: those of the system.
	SNSRoots *x509.CertPool
	Status   *pipeline.Status
	Archive  *pipeline.Archive
	Admin    *pipeline.Admin
	Silences Silences
	// Previews are the last messages of a channel whose messages are shown instead of sent; shown is false where they are
	// sent. Default: none are shown.
	Previews func(channel string) (messages []notifier.Message, shown bool)
	// Config says which configuration is in effect. Default: none.
	Config   func() ConfigState
	Registry *prometheus.Registry // served at /metrics
	Logger   *slog.Logger
	// Tracer makes a span of each webhook; nil = none are made.
	Tracer trace.Tracer
	// AdminToken is needed by every call that changes state; "" = none is carried out.
	AdminToken string
	// Local says that only this machine reaches the ops listener: texts of events are shown without the token.
	Local bool
	// Guard remembers who was refused; it is the process's, and outlives the Server. Default: one that no registry knows.
	Guard *Guard
	// WrongCredentialDelay is how long the answer to a wrong credential is held back, for an address that presents many.
	// Default 0: not at all.
	WrongCredentialDelay time.Duration
	// NoTestLane refuses webhooks with ?test=1, which have a budget of their own. Default false.
	NoTestLane bool
	// TraceStrangers lets senders of channels that ask for no credential decide by their traceparent whether there is a
	// trace. Default false.
	TraceStrangers bool
	// MaxBody is the most bytes of a webhook's body. Default 1 MiB.
	MaxBody int64
	// MaxInFlight is the most bytes of bodies that are in flight over all requests. Default 64 MiB; at least
	// BodiesInFlight times MaxBody.
	MaxInFlight int64
}

// DefaultMaxBody is the most bytes of a webhook's body.
const DefaultMaxBody = 1 << 20

// DefaultMaxConcurrent is how many webhooks one address may have in hand.
const DefaultMaxConcurrent = 256

// Server serves both listeners.
type Server struct {
	opts        Options
	doors       map[string]door     // by channel
	throttled   map[string][]string // by channel
	bySlackName map[string]string   // the channel of a Slack channel
	proxies     addressList
	crowd       *crowd
	budget      *budget
	gate        *gate
	sns         *sns
	minted      minter
	admin       tokenDigest
	guard       *Guard
	draining    atomic.Bool
	snapshots   snapshots
	retired     chan struct{}
	retire      func() // closes retired
}

// New makes a Server.
func New(opts Options) *Server {
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.MaxConcurrent == 0 {
		opts.MaxConcurrent = DefaultMaxConcurrent
	}
	if opts.Decoder == nil {
		opts.Decoder, _ = events.NewDecoder(events.Options{}) // nothing in it can be wrong
	}
	if opts.Config == nil {
		opts.Config = func() ConfigState { return ConfigState{} }
	}
	if opts.Previews == nil {
		opts.Previews = func(string) ([]notifier.Message, bool) { return nil, false }
	}
	if opts.Guard == nil {
		opts.Guard = NewGuard(prometheus.NewRegistry())
	}
	retired := make(chan struct{})
	s := &Server{
		opts: opts, retired: retired, retire: sync.OnceFunc(func() { close(retired) }), doors: map[string]door{}, throttled: map[string][]string{}, bySlackName: map[string]string{}, admin: digest(opts.AdminToken), proxies: opts.Proxies,
		crowd: &crowd{limit: opts.MaxConcurrent, inHand: map[netip.Addr]int{}}, sns: newSNS(opts.Transport, opts.SNSRoots, opts.Logger),
		budget: newBudget(opts.MaxInFlight, opts.MaxBody), gate: newGate(), guard: opts.Guard,
	}
	for _, ch := range opts.Channels {
		s.guard.expect(ch.Name, faultsOfSenders...)
		s.doors[ch.Name], s.throttled[ch.Name] = newDoor(ch, s), ch.Throttled
		if ch.SlackName != "" {
			s.bySlackName[strings.TrimPrefix(ch.SlackName, "#")] = ch.Name
		}
	}
	return s
}

// Drain makes /readyz answer 503, so that no new connections come; webhooks are still taken in.
func (s *Server) Drain() { s.draining.Store(true) }

// Public is the handler of the public listener.
func (s *Server) Public() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/hooks/{channel}", s.traced(s.handle(s.hook)))
	mux.Handle("/hooks/{channel}/{source}", s.traced(s.handle(s.hook)))
	mux.Handle("/services/{channel}/{token...}", s.traced(http.HandlerFunc(s.services)))
	mux.Handle("/api/{method}", s.traced(http.HandlerFunc(s.web)))
	mux.Handle("/", s.handle(func(http.ResponseWriter, *http.Request) error {
		return errorf(notFound, "there is nothing here; post webhooks to /hooks/{channel}")
	}))
	return s.recovered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() { // so that the sender's next webhook goes to another replica
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	}))
}

// Ops is the handler of the ops listener.
func (s *Server) Ops() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics())
	page := pages()
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /assets/{file}", page)
	mux.Handle(loginRoute, s.handle(s.login))
	mux.Handle("POST /logout", s.handle(s.logout))
	mux.HandleFunc("GET /api/v1/stream", s.stream)
	mux.Handle("GET /api/v1/channels/{channel}/preview", s.handle(s.preview))
	mux.Handle("GET /api/v1/config", s.handle(s.config))
	mux.Handle("GET /api/v1/refusals", s.handle(s.listRefusals))
	mux.Handle("GET /api/v1/silences", s.handle(s.listSilences))
	mux.Handle("POST /api/v1/silences", s.handle(s.addSilence))
	mux.Handle("DELETE /api/v1/silences/{id}", s.handle(s.expireSilence))
	mux.Handle("GET /api/v1/channels", s.handle(s.channels))
	mux.Handle("GET /api/v1/channels/{channel}", s.handle(s.channel))
	mux.Handle("GET /api/v1/channels/{channel}/series", s.handle(s.series))
	mux.Handle("POST /api/v1/channels/{channel}/pause", s.handle(s.pause))
	mux.Handle("POST /api/v1/channels/{channel}/resume", s.handle(s.resume))
	mux.Handle("POST /api/v1/channels/{channel}/limits/reset", s.handle(s.resetLimit))
	mux.Handle("GET /api/v1/channels/{channel}/dead", s.handle(s.dead))
	mux.Handle("DELETE /api/v1/channels/{channel}/dead/{id}", s.handle(s.deleteDead))
	mux.Handle("POST /api/v1/channels/{channel}/dead/{id}/replay", s.handle(s.replayDead))
	mux.Handle("GET /api/v1/channels/{channel}/drops", s.handle(s.drops))
	mux.Handle("GET /api/v1/channels/{channel}/drops/{id}", s.handle(s.drop))
	mux.Handle("POST /api/v1/channels/{channel}/drops/{id}/replay", s.handle(s.replayDrop))
	sites := http.NewCrossOriginProtection() // no other site's page changes anything by a browser's cookie
	sites.SetDenyHandler(s.handle(func(http.ResponseWriter, *http.Request) error {
		return errorf(forbidden, "a page of another site must not change anything here")
	}))
	return s.recovered(s.onlyOwnHost(sites.Handler(mux)))
}

// ServeOptions bound what a connection may do.
type ServeOptions struct {
	// ReadTimeout is how long a request may take to arrive; its headers may take a third of that. Default 15 s.
	ReadTimeout time.Duration
	// Stopping is told that ctx ended, before the requests in hand are waited for; nil = nobody is.
	Stopping func()
	// Grace is how long requests in hand may take to end when ctx ends.
	Grace  time.Duration
	Logger *slog.Logger
}

// DefaultReadTimeout is how long a request may take to arrive: a slow sender must not hold a connection for ever.
const DefaultReadTimeout = 15 * time.Second

const (
	headersShare = 3
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	maxHeader    = 32 << 10
)

// Serve serves a handler on a listener until ctx ends; then it takes no new connections, waits for the
// requests in hand, and returns.
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
