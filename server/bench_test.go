package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/server"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// What the rival, a bare handler, decodes with encoding/json.
type (
	plainEvent struct {
		Category string            `json:"category"`
		Title    string            `json:"title"`
		Text     string            `json:"text"`
		Severity string            `json:"severity"`
		Labels   map[string]string `json:"labels"`
	}
	plainAlerts struct {
		Version           string            `json:"version"`
		GroupKey          string            `json:"groupKey"`
		TruncatedAlerts   int               `json:"truncatedAlerts"`
		Status            string            `json:"status"`
		Receiver          string            `json:"receiver"`
		GroupLabels       map[string]string `json:"groupLabels"`
		CommonLabels      map[string]string `json:"commonLabels"`
		CommonAnnotations map[string]string `json:"commonAnnotations"`
		ExternalURL       string            `json:"externalURL"`
		Alerts            []plainAlert      `json:"alerts"`
	}
	plainAlert struct {
		Status       string            `json:"status"`
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
		StartsAt     time.Time         `json:"startsAt"`
		EndsAt       time.Time         `json:"endsAt"`
		GeneratorURL string            `json:"generatorURL"`
		Fingerprint  string            `json:"fingerprint"`
	}
)

// BenchmarkWebhook serves webhooks, against a handler that decodes the same JSON with encoding/json into a struct and replies
// with as many bytes. Neither reads from a socket. They alternate within one run; the ratio is that of their times. Compare the
// allocations; they do not depend on what else the machine does.
func BenchmarkWebhook(b *testing.B) {
	event, err := json.Marshal(plainEvent{
		Category: "errors", Title: "Disk full on db-1", Text: "/var is at 100 %.", Severity: "critical",
		Labels: map[string]string{"host": "db-1"},
	})
	require.NoError(b, err)
	alerts, err := json.Marshal(alertsOf(20))
	require.NoError(b, err)
	for _, c := range []struct {
		name, path string
		body       []byte
		limit      int64
		bare       func(reply []byte) http.Handler
	}{
		{"closed/event", "/hooks/alerts", event, 10, bareHandler[plainEvent]},
		{"closed/alerts20", "/hooks/alerts/alertmanager", alerts, 10, bareHandler[plainAlerts]},
		{"open/event", "/hooks/alerts", event, 1 << 40, bareHandler[plainEvent]},
	} {
		relay := benchRelay(b, c.limit)
		for range 10 {
			benchPost(b, relay, c.path, c.body)()
		}
		reply := httptest.NewRecorder()
		relay.ServeHTTP(reply, post(c.path, string(c.body)))
		ours := benchPost(b, relay, c.path, c.body)
		theirs := benchPost(b, c.bare(reply.Body.Bytes()), c.path, c.body)
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

// alertsOf is a webhook of n alerts, as Alertmanager sends them.
func alertsOf(n int) plainAlerts {
	all := plainAlerts{
		Version: "4", GroupKey: `{}:{alertname="HighErrorRate"}`, Status: "firing", Receiver: "relay",
		ExternalURL:  "http://alertmanager.example:9093",
		GroupLabels:  map[string]string{"alertname": "HighErrorRate"},
		CommonLabels: map[string]string{"alertname": "HighErrorRate", "severity": "critical"},
	}
	for i := range n {
		pod := fmt.Sprintf("checkout-7d9f8c6b5-%05d", i)
		all.Alerts = append(all.Alerts, plainAlert{
			Status: "firing", StartsAt: time.Date(2026, 11, 20, 7, 0, i, 0, time.UTC), Fingerprint: fmt.Sprintf("%016x", i+1),
			Labels: map[string]string{
				"alertname": "HighErrorRate", "cluster": "prod-eu", "container": "checkout", "job": "kubernetes-pods",
				"instance": fmt.Sprintf("10.0.3.%d:8080", i), "namespace": "shop", "pod": pod, "severity": "critical",
			},
			Annotations: map[string]string{
				"summary":     "Error rate above 5 % on " + pod,
				"description": "The share of 5xx answers of " + pod + " in namespace shop is 7.3 % over the last 5 minutes.",
				"runbook_url": "https://runbooks.example/HighErrorRate",
			},
			GeneratorURL: "http://prometheus.example:9090/graph?g0.expr=rate%28http_requests_total%5B5m%5D%29&g0.tab=1",
		})
	}
	return all
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

func bareHandler[webhook any](reply []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var decoded webhook
		if err != nil || json.Unmarshal(body, &decoded) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		w.Write(reply)
	})
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
