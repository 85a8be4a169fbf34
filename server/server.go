// Package server is the HTTP side of the relay. The public listener receives webhooks: it authenticates their sender, bounds
// and decodes their body, and passes the events to the pipeline. The ops listener serves health, metrics, the API for operators
// and the dashboard.
//
// The package opens no connection to Redis or Slack: webhooks go to the pipeline's Intake, and operators read and change the
// state of channels through its StatusReader, Archive and Admin. It does know the errors of an outage, to explain them to
// operators, and Slack's inbound protocols, which tools for Slack speak to the relay. The one address it calls is Amazon's, for
// the certificates of SNS.
//
// The files are grouped by prefix: auth (credentials, signatures, addresses), body (limits of what is read), ingest (the
// endpoints of the public listener), door (those in the shape of other products), ops (those of the API), dashboard (the page,
// its stream and its sessions) and refusals.
package server

import (
	"cmp"
	"crypto/x509"
	"log/slog"
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
	"slackrelay/silence"
)

// Channel is a channel as the public listener needs it.
type Channel struct {
	Name string
	// SlackName is the channel's name or id in Slack; tools for Slack may use it instead of Name. "" = none.
	SlackName string
	// IngressToken is a bearer token that senders may present. If it is "" and Credentials is empty, anybody may send.
	IngressToken string
	// Credentials are the other credentials of the channel; any one is enough.
	Credentials []Credential
	// AllowFrom lists the addresses that may send; empty = all.
	AllowFrom []netip.Prefix
	// ResolveTimeout is how long an alert fires that a client of Alertmanager's API posts without an end. Default:
	// [DefaultResolveTimeout].
	ResolveTimeout time.Duration
	// Throttled lists the sources that get 429 if all events of a webhook were dropped; other sources get 202.
	Throttled []string
}

// Options configure a Server. Channels, Intake and Logger are needed by the public listener; the ops listener also needs
// Status, Archive, Admin, Silences and Registry:
//
//	s := server.New(server.Options{
//		Channels: []server.Channel{{Name: "alerts", IngressToken: token}},
//		Intake:   intake,
//		Status:   status, Archive: archive, Admin: admin, Silences: silencer,
//		Registry: registry, Logger: logger,
//	})
//	http.Serve(public, s.Public())
type Options struct {
	Channels []Channel
	Intake   Intake
	// Decoder decodes bodies. Default: default limits, no mappings.
	Decoder *events.Decoder
	// Proxies are the proxies whose X-Forwarded-For is trusted. Default: none.
	Proxies []netip.Prefix
	// MaxConcurrent is how many webhooks of one address are served at a time. Default: [DefaultMaxConcurrent].
	MaxConcurrent int
	// Transport fetches the certificates of Amazon SNS. Default: http.DefaultTransport.
	Transport http.RoundTripper
	// SNSRoots are the authorities that certificates of Amazon SNS must chain to. Default: those of the system.
	SNSRoots *x509.CertPool
	Status   *pipeline.StatusReader
	Archive  *pipeline.Archive
	Admin    *pipeline.Admin
	Silences *silence.Silencer
	// Heartbeats are those of senders. Default: there are none.
	Heartbeats *pipeline.Heartbeats
	// Alerts takes in and lists the alerts of clients of Alertmanager's API. Default: each posted alert is an event, and none is
	// listed.
	Alerts Alerts
	// Recorder hands out the events that channels receive.
	Recorder *pipeline.Recorder
	// Interactions take in clicks and commands. Default: none is accepted.
	Interactions Interactions
	// Previews returns the last messages of a channel that is not connected to Slack; shown is false for channels that are.
	// Default: no previews.
	Previews func(channel string) (messages []notifier.Message, shown bool)
	// Config returns the configuration that is in effect. Default: an empty one.
	Config   func() ConfigState
	Registry *prometheus.Registry // served at /metrics
	Logger   *slog.Logger
	// Tracer traces webhooks; nil = no traces.
	Tracer trace.Tracer
	// AdminToken authorizes calls that change state; "" = such calls are refused.
	AdminToken string
	// Local means that the ops listener is reachable from this machine only. The texts of events are then shown without the
	// token, and the Host header must name this machine.
	Local bool
	// Guard counts refused requests. Pass the same Guard to all Servers of a process. Default: a new one, not registered.
	Guard *Guard
	// WrongCredentialDelay delays the reply to a wrong credential, for addresses that present many. Default: 0, no delay.
	WrongCredentialDelay time.Duration
	// NoTestLane refuses webhooks with ?test=1. Default: false.
	NoTestLane bool
	// TraceUnauthenticated accepts the traceparent of senders in channels without credentials; it decides whether the request
	// is sampled. Default: false.
	TraceUnauthenticated bool
	// MaxBody is the largest body of a webhook, in bytes, both as sent and decompressed. Default: [DefaultMaxBody].
	MaxBody int64
	// MaxInFlight bounds the memory of all bodies in flight, in bytes; at least BodiesInFlight times MaxBody. Default:
	// [DefaultMaxInFlight].
	MaxInFlight int64
}

// DefaultMaxBody is the default of Options.MaxBody, in bytes.
const DefaultMaxBody = 1 << 20

// DefaultResolveTimeout is the default of Channel.ResolveTimeout, that of Alertmanager.
const DefaultResolveTimeout = 5 * time.Minute

// DefaultMaxConcurrent is the default of Options.MaxConcurrent.
const DefaultMaxConcurrent = 256

// withDefaults returns the options with all defaults filled in.
func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	if o.Decoder == nil {
		o.Decoder, _ = events.NewDecoder(events.Options{}) // empty options have no faults
	}
	if o.Config == nil {
		o.Config = func() ConfigState { return ConfigState{} }
	}
	if o.Previews == nil {
		o.Previews = func(string) ([]notifier.Message, bool) { return nil, false }
	}
	if o.Interactions == nil {
		o.Interactions = noInteractions{}
	}
	if o.Heartbeats == nil {
		o.Heartbeats = pipeline.NewHeartbeats(pipeline.HeartbeatOptions{Memory: pipeline.NewHeartbeatMemory()})
	}
	if o.Guard == nil {
		o.Guard = NewGuard(prometheus.NewRegistry())
	}
	return o
}

// Server serves both listeners for one configuration. A reload makes a new Server.
type Server struct {
	opts Options

	ingresses   map[string]ingress       // by channel
	bySlackName map[string]string        // the channel of a Slack channel
	byToken     map[tokenDigest][]string // the channels that accept a token
	otherwise   []string                 // the channels with a credential that is no token
	open        []string                 // the channels without a credential

	resolveTimeouts map[string]time.Duration // by channel

	proxies addressList
	admin   tokenDigest
	sns     *sns

	inFlight   inFlight
	bodyBudget *bodyBudget
	decodeGate *decodeGate
	lists      *decodeGate // of alerts
	timestamps tsGenerator

	draining  atomic.Bool
	snapshots snapshotCache
	retired   chan struct{} // closed by retire
	retire    func()
}

// New returns a Server.
func New(opts Options) *Server {
	opts = opts.withDefaults()
	retired := make(chan struct{})
	s := &Server{
		opts:        opts,
		ingresses:   map[string]ingress{},
		bySlackName: map[string]string{},
		byToken:     map[tokenDigest][]string{},

		resolveTimeouts: map[string]time.Duration{},

		proxies:    opts.Proxies,
		admin:      digest(opts.AdminToken),
		sns:        newSNS(opts.Transport, opts.SNSRoots, opts.Logger),
		inFlight:   inFlight{limit: opts.MaxConcurrent, byAddress: map[netip.Addr]int{}},
		bodyBudget: newBodyBudget(opts.MaxInFlight, opts.MaxBody),
		decodeGate: newDecodeGate(),
		lists:      newDecodeGate(),
		retired:    retired,
		retire:     sync.OnceFunc(func() { close(retired) }),
	}
	for _, ch := range opts.Channels {
		if opts.Guard.channels.Fits(len(opts.Channels)) {
			opts.Guard.initCounters(ch.Name, senderFaults...)
		}
		s.ingresses[ch.Name] = s.newIngress(ch)
		s.addTokens(ch)
		s.resolveTimeouts[ch.Name] = cmp.Or(ch.ResolveTimeout, DefaultResolveTimeout)
		if ch.SlackName != "" {
			s.bySlackName[strings.TrimPrefix(ch.SlackName, "#")] = ch.Name
		}
	}
	return s
}

// Drain makes /readyz return 503, so that no new connections arrive. Webhooks are still accepted.
func (s *Server) Drain() { s.draining.Store(true) }

// Retire ends the event streams of this Server, because another one replaces it. Browsers reconnect by themselves.
func (s *Server) Retire() { s.retire() }
