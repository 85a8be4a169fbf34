package app

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"slackrelay/configs"
	"slackrelay/server"
)

// newLogger writes log lines to out, at most about log_burst a second of each kind; out = nil writes none. suppressed counts
// the lines that were left out.
func newLogger(cfg configs.Config, out io.Writer) (log *slog.Logger, suppressed prometheus.Collector) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo // validated before
	}
	opts := &slog.HandlerOptions{Level: level}
	if out == nil {
		out = io.Discard
	}
	var handler slog.Handler = slog.NewTextHandler(out, opts)
	if cfg.LogFormat == "json" {
		handler = slog.NewJSONHandler(out, opts)
	}
	s := newSampling(cfg.LogBurst, time.Now)
	return slog.New(lines{Handler: handler, sampling: s}), s.suppressed
}

// lines samples the log in a storm, and adds the id of the trace that a line belongs to.
type lines struct {
	slog.Handler
	sampling *sampling
	channel  string
}

// Handle implements [slog.Handler].
func (l lines) Handle(ctx context.Context, line slog.Record) error {
	kind := lineKind{line.Level, line.Message, l.channel}
	if kind.byAnyone() {
		kind.channel = ""
		return l.write(ctx, line, kind)
	}
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == channelKey {
			kind.channel = a.Value.String()
		}
		return kind.channel == ""
	})
	return l.write(ctx, line, kind)
}

// write writes a line unless the sampling leaves it out.
func (l lines) write(ctx context.Context, line slog.Record, kind lineKind) error {
	write, leftOut := l.sampling.sample(kind)
	if !write {
		return nil
	}
	span := trace.SpanContextFromContext(ctx)
	if leftOut > 0 || span.IsValid() {
		line = line.Clone()
	}
	if leftOut > 0 {
		line.AddAttrs(slog.Int64("left_out", leftOut))
	}
	if span.IsValid() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return l.Handler.Handle(ctx, line)
}

// channelKey is the attribute that distinguishes lines with the same message.
const channelKey = "channel"

// WithAttrs implements [slog.Handler].
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == channelKey {
			l.channel = a.Value.String()
		}
	}
	l.Handler = l.Handler.WithAttrs(attrs)
	return l
}

// WithGroup implements [slog.Handler].
func (l lines) WithGroup(name string) slog.Handler {
	l.Handler = l.Handler.WithGroup(name)
	return l
}

// lineKind identifies lines that repeat each other.
type lineKind struct {
	level   slog.Level
	message string
	channel string
}

// byAnyone reports whether anyone who reaches a listener can cause such lines: they are counted over all channels, and none
// is written beyond the burst.
func (k lineKind) byAnyone() bool {
	return k.message == server.Refused || k.message == server.Audit && k.level > slog.LevelInfo
}

// sampleEvery is how many lines beyond the burst come to one that is written.
const sampleEvery = 100

// sampling counts the lines of a second.
type sampling struct {
	burst      int64 // 0 = all are written
	now        func() time.Time
	suppressed *prometheus.CounterVec

	mu      sync.Mutex
	second  int64
	counts  map[lineKind]int64 // in this second
	leftOut map[lineKind]int64 // since a line of the kind was written
}

func newSampling(burst int64, now func() time.Time) *sampling {
	suppressed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_log_lines_suppressed_total",
		Help: "Lines that were not written, because more than log_burst of their kind came in a second.",
	}, []string{"level"})
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		suppressed.WithLabelValues(level.String())
	}
	return &sampling{burst: burst, now: now, suppressed: suppressed, counts: map[lineKind]int64{}, leftOut: map[lineKind]int64{}}
}

// sample decides whether a line is written, and returns how many of its kind were left out before it. Audit lines of what was
// done are always written; those of what was refused are not.
func (s *sampling) sample(kind lineKind) (write bool, leftOut int64) {
	if s.burst == 0 || kind.message == server.Audit && !kind.byAnyone() {
		return true, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := s.now().Unix(); second != s.second {
		s.second = second
		clear(s.counts)
	}
	s.counts[kind]++
	if n := s.counts[kind]; n > s.burst && (kind.byAnyone() || (n-s.burst)%sampleEvery != 0) {
		s.leftOut[kind]++
		s.suppressed.WithLabelValues(kind.level.String()).Inc()
		return false, 0
	}
	leftOut = s.leftOut[kind]
	delete(s.leftOut, kind)
	return true, leftOut
}

// maxLogged is how many channels a line names that is about all of them.
const maxLogged = 5

// firstOf returns the names that a line about all channels has.
func firstOf(channels []string) []string { return channels[:min(len(channels), maxLogged)] }
