// Package decisionlog writes what was decided about each event, and what became of it, as lines of JSON: to standard output, to a
// file, or to a webhook in batches.
//
// Lines wait in a bounded buffer for one goroutine that writes them. Nobody waits for it: while the sink is too slow or fails, the
// buffer fills, and further lines are dropped and counted. A line is written at least once: a batch that was perhaps stored is
// written again.
package decisionlog

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// MaxBuffer is how many bytes of lines wait to be written, by default.
const MaxBuffer = 8 << 20

// MaxBatch is the largest number of bytes of lines that are written at once.
const MaxBatch = 1 << 20

const (
	batchDelay   = time.Second      // for how long lines are collected
	firstRetry   = time.Second      // after the first failure of a sink
	longestRetry = 30 * time.Second // after further ones
)

// Options describe a [Log]. Sink is needed:
//
//	log := decisionlog.New(decisionlog.Options{Sink: os.Stdout, Replica: "relay-1", Registerer: registry, Logger: logger})
//	defer log.Close(ctx)
type Options struct {
	// Sink gets whole lines. It returns how many bytes it wrote: the rest is written again later. If it also has a method
	// Refuses(error) bool that returns true, the rest is dropped.
	Sink io.Writer
	// Replica names this process in each line.
	Replica string
	// Registerer gets the counter of lines. nil = they are not counted.
	Registerer prometheus.Registerer
	// Logger gets a line when the sink fails, and when it works again. nil = no log.
	Logger *slog.Logger
	// Buffer is how many bytes of lines wait at most. Default [MaxBuffer].
	Buffer int
}

// Log is a decision log. All methods of a nil Log do nothing.
type Log struct {
	opts             Options
	written, dropped prometheus.Counter
	stop             context.CancelFunc
	ready            chan struct{} // has a value if a batch is full
	done             chan struct{}

	mu     sync.Mutex
	buffer []byte
	lines  int64 // so far, with those that were dropped
}

// New returns a Log, and starts its goroutine, which [Log.Close] ends.
func New(opts Options) *Log {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Buffer = cmp.Or(opts.Buffer, MaxBuffer)
	counts := promauto.With(opts.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "relay_decision_log_lines_total",
		Help: "Lines of the decision log by their result: written, or dropped because the buffer was full or the sink refused them.",
	}, []string{"result"})
	ctx, stop := context.WithCancel(context.Background())
	l := &Log{
		opts: opts, written: counts.WithLabelValues("written"), dropped: counts.WithLabelValues("dropped"),
		stop: stop, ready: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go l.run(ctx)
	return l
}

// Now returns the time for a [Record]; of a nil Log, the zero time.
func (l *Log) Now() time.Time {
	if l == nil {
		return time.Time{}
	}
	return time.Now()
}

// Record adds a line. It never blocks: the line is dropped if the buffer is full.
func (l *Log) Record(r Record) {
	if l == nil {
		return
	}
	r.bound()
	r.At = r.At.UTC()
	r.Replica = l.opts.Replica
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines++
	r.Line = l.lines
	line, err := json.Marshal(r)
	if err != nil || len(l.buffer)+len(line) >= l.opts.Buffer {
		l.dropped.Inc()
		return
	}
	l.buffer = append(append(l.buffer, line...), '\n')
	if len(l.buffer) >= MaxBatch {
		select {
		case l.ready <- struct{}{}:
		default:
		}
	}
}

// Close writes the lines that wait, until ctx ends: what is left then is dropped. No line may be added after it.
func (l *Log) Close(ctx context.Context) {
	if l == nil {
		return
	}
	l.stop()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.opts.Logger.WarnContext(ctx, "last lines of the decision log not written")
	}
}
