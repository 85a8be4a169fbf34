package interaction

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/store"
)

// Bounds of what the relay takes in from Slack.
const (
	// MaxInFlight is how many clicks and commands a Receiver acts on at a time. Beyond it, they are refused: Slack says so to
	// the user, who may try again.
	MaxInFlight = 64
	// ackWithin is when a click or command is acknowledged at the latest: Slack waits for 3 seconds.
	ackWithin = 2500 * time.Millisecond
	// effectWithin is how long the Handler may take. Whatever it answers after ackWithin is posted later.
	effectWithin = 10 * time.Second
)

// Why something that Slack delivered has no effect.
var (
	// ErrUnauthorized means that no app of the relay signed the request, or that it is too old.
	ErrUnauthorized = errors.New("the signature is not that of an app of the relay, or it is more than 5 minutes old")
	// ErrForeign means that a click or command comes from another app or workspace than the one that received it.
	ErrForeign = errors.New("it comes from another app or workspace")
	// ErrMalformed means that the payload is not as Slack documents it.
	ErrMalformed = errors.New("the payload is not one of Slack")
	// ErrUnavailable means that it cannot be handled now.
	ErrUnavailable = errors.New("it cannot be handled now")

	// errIgnored is for what the relay offers nobody, for example shortcuts and views.
	errIgnored = errors.New("nothing of the relay")
)

// Documents are what the Receiver keeps in the store; every [store.Problems] has them.
type Documents interface {
	Problems(ctx context.Context, channel store.Channel, names []string) (now int64, all []store.Problem, err error)
	SaveProblems(
		ctx context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
	) (saved bool, err error)
}

// Options configure a [Receiver]. Documents and Owner are required:
//
//	receiver := interaction.NewReceiver(interaction.Options{Documents: store, Owner: owner, Logger: logger})
//	receiver.Configure(apps, handler)
//	receiver.Run(ctx)
type Options struct {
	// Documents keep which replicas have sockets, and which requests were taken in.
	Documents Documents
	// Owner names this replica among the others.
	Owner string
	// Metrics count. Default: not registered.
	Metrics *Metrics
	// Timeout bounds each request to Slack. Default: 5 s.
	Timeout time.Duration
	// Logger. Default: no log.
	Logger *slog.Logger
}

// Receiver takes in clicks and commands from Slack, over sockets and by HTTP, verifies them, and has the Handler act on them.
// It lives as long as the process; Configure sets what a configuration determines. It is safe for concurrent use.
type Receiver struct {
	opts       Options
	client     *http.Client
	workspaces workspaces
	inFlight   chan struct{}
	work       sync.WaitGroup

	current atomic.Pointer[configuration]
	changed chan struct{} // has room for one

	mu      sync.Mutex
	sockets map[socketKey]*socket // that Run serves
}

// configuration is what Configure sets.
type configuration struct {
	apps    []App
	handler Handler
}

// NewReceiver returns a Receiver that serves no app yet.
func NewReceiver(opts Options) *Receiver {
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Second)
	if opts.Metrics == nil {
		opts.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	client := &http.Client{
		Timeout:       opts.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r := &Receiver{
		opts: opts, client: client, workspaces: workspaces{client: client, known: map[workspaceKey]*installation{}},
		inFlight: make(chan struct{}, MaxInFlight), changed: make(chan struct{}, 1), sockets: map[socketKey]*socket{},
	}
	r.current.Store(&configuration{})
	return r
}

// Configure replaces the apps, and who acts on what people do. Sockets of apps that stay are kept.
func (r *Receiver) Configure(apps []App, handler Handler) {
	r.current.Store(&configuration{apps: apps, handler: handler})
	select {
	case r.changed <- struct{}{}:
	default: // Run has not seen the last change yet
	}
}

// Run keeps sockets open, as many as are this replica's share, until ctx ends and what is in flight has been answered.
func (r *Receiver) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.serveSockets(ctx, r.current.Load().apps)
		select {
		case <-ctx.Done():
		case <-r.changed:
		}
	}
	r.serveSockets(ctx, nil)
	r.work.Wait()
}
