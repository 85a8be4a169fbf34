package main

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

// newLogger writes lines to out, so many a second of each kind. suppressed counts those that it does not write.
func newLogger(cfg configs.Config, out io.Writer) (log *slog.Logger, suppressed prometheus.Collector) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo // validated before
	}
	opts := &slog.HandlerOptions{Level: level}
	out = newTerminal(out)
	var handler slog.Handler = slog.NewTextHandler(out, opts)
	if cfg.LogFormat == "json" {
		handler = slog.NewJSONHandler(out, opts)
	}
	s := newSampling(cfg.LogBurst, time.Now)
	return slog.New(lines{Handler: handler, sampling: s}), s.suppressed
}

// lines writes a share of what comes in a storm, and names the trace that a line belongs to.
type lines struct {
	slog.Handler
	sampling *sampling
	channel  string
}

// Handle implements [slog.Handler].
func (l lines) Handle(ctx context.Context, line slog.Record) error {
	kind := lineKind{line.Level, line.Message, l.channel}
	if kind.byStrangers() {
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

// write writes a line, unless it is one too many of its kind.
func (l lines) write(ctx context.Context, line slog.Record, kind lineKind) error {
	write, left := l.sampling.take(kind)
	if !write {
		return nil
	}
	span := trace.SpanContextFromContext(ctx)
	if left > 0 || span.IsValid() {
		line = line.Clone()
	}
	if left > 0 {
		line.AddAttrs(slog.Int64("left_out", left))
	}
	if span.IsValid() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return l.Handler.Handle(ctx, line)
}

// channelKey is the attribute by which lines are told apart, beside their message.
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

// lineKind are lines that say the same.
type lineKind struct {
	level   slog.Level
	message string
	channel string
}

// byStrangers tells the lines that anybody can cause who reaches a listener: they are counted over all channels, and none is
// written beyond the burst.
func (k lineKind) byStrangers() bool {
	return k.message == server.Refused || k.message == server.Audit && k.level > slog.LevelInfo
}

// oneIn is the share of lines that are written beyond the burst.
const oneIn = 100

// sampling counts the lines of a second.
type sampling struct {
	burst      int64 // 0 = all are written
	now        func() time.Time
	suppressed *prometheus.CounterVec

	mu     sync.Mutex
	second int64
	seen   map[lineKind]int64
	left   map[lineKind]int64 // out since one was written
}

func newSampling(burst int64, now func() time.Time) *sampling {
	suppressed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_log_lines_suppressed_total", Help: "Lines that were not written, because more than log_burst of their kind came in a second.",
	}, []string{"level"})
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		suppressed.WithLabelValues(level.String())
	}
	return &sampling{burst: burst, now: now, suppressed: suppressed, seen: map[lineKind]int64{}, left: map[lineKind]int64{}}
}

// take tells whether a line is written, and how many of its kind were left out before. Who did what is always written; who
// was not let do it is not.
func (s *sampling) take(kind lineKind) (write bool, left int64) {
	if s.burst == 0 || kind.message == server.Audit && !kind.byStrangers() {
		return true, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := s.now().Unix(); second != s.second {
		s.second = second
		clear(s.seen)
	}
	s.seen[kind]++
	if n := s.seen[kind]; n > s.burst && (kind.byStrangers() || (n-s.burst)%oneIn != 0) {
		s.left[kind]++
		s.suppressed.WithLabelValues(kind.level.String()).Inc()
		return false, 0
	}
	left = s.left[kind]
	delete(s.left, kind)
	return true, left
}
