package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
	"slackrelay/test/bare"
)

// BenchmarkWebhook serves webhooks, against a handler that decodes the same JSON with encoding/json into a struct and replies
// with as many bytes. Neither reads from a socket. They alternate within one run; the ratio is that of their times. Compare the
// allocations; they do not depend on what else the machine does.
func BenchmarkWebhook(b *testing.B) {
	event, alerts := bare.JSON(bare.OneEvent()), bare.JSON(bare.ManyAlerts(20))
	for _, c := range []struct {
		name, path string
		body       []byte
		limit      int64
		rival      func(reply []byte) http.HandlerFunc
	}{
		{"closed/event", "/hooks/alerts", event, 10, bare.Handler[bare.Event]},
		{"closed/alerts20", "/hooks/alerts/alertmanager", alerts, 10, bare.Handler[bare.Alerts]},
		{"open/event", "/hooks/alerts", event, 1 << 40, bare.Handler[bare.Event]},
	} {
		relay := benchRelay(b, c.limit)
		for range 10 {
			benchPost(b, relay, c.path, c.body)()
		}
		reply := httptest.NewRecorder()
		relay.ServeHTTP(reply, post(c.path, string(c.body)))
		ours := benchPost(b, relay, c.path, c.body)
		theirs := benchPost(b, c.rival(reply.Body.Bytes()), c.path, c.body)
		b.Run(c.name+"/relay", func(b *testing.B) { alone(b, ours) })
		b.Run(c.name+"/bare", func(b *testing.B) { alone(b, theirs) })
		b.Run(c.name+"/ratio", func(b *testing.B) {
			var us, them time.Duration
			for b.Loop() {
				us += timed(ours)
				them += timed(theirs)
			}
			b.ReportMetric(them.Seconds()/us.Seconds(), "x-bare")
		})
	}
}

func alone(b *testing.B, f func()) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// benchRelay is a public listener whose channel has these limits, with the limiter of a replica.
func benchRelay(b *testing.B, limit int64) http.Handler {
	b.Helper()
	window := ratelimit.Window{Limit: limit, Per: time.Hour}
	ch := pipeline.Channel{Name: "alerts", Tiers: levels(window, window), Handling: &store.MessagePolicy{
		Overflow: store.OverflowDrop, Resolves: store.ResolvesPost, KeepDrops: 1000,
	}}
	limiter := replica.New(memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}), replica.Options{Replica: "bench"})
	b.Cleanup(func() { limiter.Close(context.Background()) }) //nolint:usetesting // b.Context has ended by then
	return server.New(server.Options{
		Channels: []server.Channel{{Name: "alerts"}}, Logger: slog.New(slog.DiscardHandler),
		Intake: pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: []pipeline.Channel{ch}, Metrics: pipeline.NewMetrics(prometheus.NewRegistry()), Wake: func(string) {},
		}),
	}).Public()
}

// benchPost returns a function that posts a body once more, with what a usual client sends.
func benchPost(b *testing.B, handler http.Handler, path string, body []byte) func() {
	b.Helper()
	r := post(path, "")
	r.ContentLength = int64(len(body))
	r.Header.Set("User-Agent", "Alertmanager/0.28.1")
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	var unread bytes.Reader
	r.Body = io.NopCloser(&unread)
	w := &discardReply{header: http.Header{}}
	return func() {
		unread.Reset(body)
		clear(w.header)
		if handler.ServeHTTP(w, r); w.status != http.StatusAccepted {
			b.Fatal(w.status)
		}
	}
}

// discardReply is a reply of which only the status is kept.
type discardReply struct {
	header http.Header
	status int
}

func (d *discardReply) Header() http.Header         { return d.header }
func (d *discardReply) WriteHeader(status int)      { d.status = status }
func (d *discardReply) Write(p []byte) (int, error) { return len(p), nil }
