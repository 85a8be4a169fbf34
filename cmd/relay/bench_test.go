package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/lua/redistest"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/server"
	"slackrelay/store"
)

// The benchmarks post webhooks over loopback from 64 senders. The contenders differ in the limiter only: the
// handler, from the socket to the receipt, is the relay's own.
//
//	a-bare                the limiter refuses at once, and asks nobody
//	b-one-script-an-event the plain script is asked for each event
//	c-relay               the relay's limiter
//	d-plain-handler       for reference: no relay at all, JSON in and a reply of the same size out
//
// x_bare is the rate as a ratio to a-bare, x_script to b, in the same run.

// BenchmarkStorm posts events of a category that is full.
func BenchmarkStorm(b *testing.B) {
	for _, events := range []int{1, 20} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) { compete(b, events, 100, 10) })
	}
}

// BenchmarkOpenLimits posts events that all fit.
func BenchmarkOpenLimits(b *testing.B) {
	compete(b, 1, 1_000_000, 1_000_000)
}

// BenchmarkAlertmanagerStorm posts webhooks of 20 alerts of a category that is full: what the whole relay adds, and saves by
// how it decodes. x_plain is the rate as a ratio to a handler that does nothing but decode them with encoding/json, into
// the same fields, and answer as much, encoded with encoding/json. The senders write the same bytes again and again, so that
// what is measured is the server.
func BenchmarkAlertmanagerStorm(b *testing.B) {
	cfg := configs.Default()
	cfg.RedisURL, cfg.Channels[0].Window = configs.Secret(redistest.Start(b).URL), time.Hour
	relayURL, _ := benchRelay(b, cfg, 1)
	relayURL = strings.Replace(relayURL, "/generic", "/alertmanager", 1)
	body := benchAlerts(20)
	postOnce(b, relayURL, body)
	var receipt pipeline.Receipt // nothing fits any more
	if err := json.Unmarshal(postOnce(b, relayURL, body), &receipt); err != nil || receipt.Dropped != 20 {
		b.Fatal(receipt, err)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var webhook alertmanagerWebhook
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &webhook) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		json.NewEncoder(w).Encode(receipt)
	}))
	b.Cleanup(plain.Close)
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	var ours, theirs []float64
	for turn := range benchTurns + 1 {
		relayed, decoded := hammer(b, relayURL, body), hammer(b, plain.URL, body)
		if turn > 0 {
			ours, theirs = append(ours, relayed), append(theirs, decoded)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours[len(ours)/2], "req/s")
	b.ReportMetric(ours[len(ours)/2]/theirs[len(theirs)/2], "x_plain")
}

// hammer posts the same bytes from 16 connections for one turn, and answers the requests per second.
func hammer(b *testing.B, address string, body []byte) float64 {
	b.Helper()
	target, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	path := cmp.Or(target.Path, "/")
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	var posted atomic.Int64
	var senders sync.WaitGroup
	begin := time.Now()
	for range 16 {
		senders.Go(func() {
			conn, err := net.Dial("tcp", target.Host)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for time.Since(begin) < benchTurn {
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				response, err := http.ReadResponse(answers, nil)
				if err != nil || response.StatusCode != http.StatusAccepted {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				posted.Add(1)
			}
		})
	}
	senders.Wait()
	return float64(posted.Load()) / time.Since(begin).Seconds()
}

// alertmanagerWebhook is Alertmanager's own body (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
type alertmanagerWebhook struct {
	Version           string              `json:"version"`
	GroupKey          string              `json:"groupKey"`
	TruncatedAlerts   int                 `json:"truncatedAlerts"`
	Status            string              `json:"status"`
	Receiver          string              `json:"receiver"`
	GroupLabels       map[string]string   `json:"groupLabels"`
	CommonLabels      map[string]string   `json:"commonLabels"`
	CommonAnnotations map[string]string   `json:"commonAnnotations"`
	ExternalURL       string              `json:"externalURL"`
	Alerts            []alertmanagerAlert `json:"alerts"`
}

type alertmanagerAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

func benchAlerts(n int) []byte {
	webhook := alertmanagerWebhook{
		Version: "4", GroupKey: `{}:{alertname="HighErrorRate"}`, Status: "firing", Receiver: "relay", ExternalURL: "http://alertmanager.example:9093",
		GroupLabels: map[string]string{"alertname": "HighErrorRate"}, CommonLabels: map[string]string{"alertname": "HighErrorRate", "cluster": "prod-eu", "severity": "critical"},
	}
	for i := range n {
		pod := fmt.Sprintf("checkout-7d9f8c6b5-%05d", i)
		webhook.Alerts = append(webhook.Alerts, alertmanagerAlert{
			Status: "firing", StartsAt: time.Date(2026, 11, 20, 7, 0, i, 0, time.UTC), Fingerprint: fmt.Sprintf("%016x", i+1),
			Labels: map[string]string{
				"alertname": "HighErrorRate", "cluster": "prod-eu", "container": "checkout", "instance": fmt.Sprintf("10.0.3.%d:8080", i), "job": "kubernetes-pods",
				"namespace": "shop", "pod": pod, "severity": "critical",
			},
			Annotations: map[string]string{
				"summary": "Error rate above 5 % on " + pod, "description": "The share of 5xx answers of " + pod + " in namespace shop is 7.3 % over the last 5 minutes.",
				"runbook_url": "https://runbooks.example/HighErrorRate",
			},
			GeneratorURL: "http://prometheus.example:9090/graph?g0.expr=rate%28http_requests_total%7Bcode%3D~%225..%22%7D%5B5m%5D%29&g0.tab=1",
		})
	}
	body, err := json.Marshal(webhook)
	if err != nil {
		panic(err)
	}
	return body
}

func compete(b *testing.B, events int, channel, category int64) {
	b.Helper()
	url := redistest.Start(b).URL
	opts, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	opts.PoolSize = 64
	client := redis.NewClient(opts)
	b.Cleanup(func() { client.Close() })
	cfg := configs.Default()
	cfg.RedisURL, cfg.Channels[0].GlobalLimit, cfg.Channels[0].CategoryLimit = configs.Secret(url), channel, category
	cfg.Channels[0].Window = time.Second // so that what is admitted does not pile up
	if channel <= 100 {
		cfg.Channels[0].Window = time.Hour
	}
	relayURL, reply := benchRelay(b, cfg, events)
	ballast := make([]byte, 64<<20) // never touched, so not resident: garbage is collected as rarely for each
	defer runtime.KeepAlive(ballast)
	contenders := []struct{ name, url string }{
		{"a-bare", benchOwnHandler(b, cfg, func(context.Context, int) bool { return channel > 100 })},
		{"b-one-script-an-event", benchOwnHandler(b, cfg, askSeedScript(client, channel, category))},
		{"c-relay", relayURL},
		{"d-plain-handler", benchHandler(b, reply)},
	}
	// In turns, and the median of the turns: what else the machine does meanwhile hits all alike.
	turns := make([][]float64, len(contenders))
	for turn := range benchTurns + 1 {
		for i, c := range contenders {
			if rate := postFor(b, c.url, benchBody(events)); turn > 0 { // the first one warms up
				turns[i] = append(turns[i], rate)
			}
		}
	}
	rates := make([]float64, len(contenders))
	for i := range turns {
		slices.Sort(turns[i])
		rates[i] = turns[i][len(turns[i])/2]
	}
	for i, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op") // measured before
			b.ReportMetric(rates[i], "req/s")
			b.ReportMetric(rates[i]/rates[0], "x_bare")
			b.ReportMetric(rates[i]/rates[1], "x_script")
		})
	}
}

// How long and how often each contender is measured.
const (
	benchTurn  = 500 * time.Millisecond
	benchTurns = 7
)

// postFor posts from 64 senders for one turn, and answers the requests per second.
func postFor(b *testing.B, url string, body []byte) float64 {
	b.Helper()
	var posted atomic.Int64
	var senders sync.WaitGroup
	begin := time.Now()
	for range 64 {
		senders.Go(func() {
			for time.Since(begin) < benchTurn {
				response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				posted.Add(1)
			}
		})
	}
	senders.Wait()
	return float64(posted.Load()) / time.Since(begin).Seconds()
}

// plainLimiter stands in for the limiter, and decides one event after the other.
type plainLimiter struct {
	store.Limiter
	admits func(ctx context.Context, events int) bool
}

func (l plainLimiter) Durable() bool { return true }

func (l plainLimiter) Admit(ctx context.Context, _ store.Channel, requests []store.Request) ([]store.Decision, error) {
	decisions := make([]store.Decision, len(requests))
	for i := range decisions {
		decisions[i] = store.Decision{Durable: true, Outcome: store.Dropped, Level: "category", RetryAfter: time.Minute, DecidedBy: store.ByRedis}
		if l.admits(ctx, 1) {
			decisions[i] = store.Decision{Durable: true, Outcome: store.Admitted, DecidedBy: store.ByRedis}
		}
	}
	return decisions, nil
}

// benchOwnHandler is the relay's own handler with another limiter.
func benchOwnHandler(b *testing.B, cfg configs.Config, admits func(ctx context.Context, events int) bool) string {
	b.Helper()
	registry := prometheus.NewRegistry()
	channels := cfg.PipelineChannels(func(configs.Channel) notifier.Sender { return nil })
	limiter := plainLimiter{admits: admits}
	s := server.New(server.Options{
		Channels: cfg.ServerChannels(), Registry: registry, Logger: slog.New(slog.DiscardHandler),
		Status: pipeline.NewStatus(limiter, channels, nil, nil),
		Intake: pipeline.NewIntake(pipeline.IntakeOptions{
			Limiter: limiter, Channels: channels, Metrics: pipeline.NewMetrics(registry), Admitted: func(string) {},
		}),
	})
	var lc net.ListenConfig
	listener, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	serving := newTask(context.Background(), func(ctx context.Context) error { //nolint:usetesting // ended in Cleanup, when b.Context has ended already
		return server.Serve(ctx, listener, s.Public(), server.ServeOptions{Logger: slog.New(slog.DiscardHandler), Grace: time.Second})
	})
	b.Cleanup(func() { _ = serving.stop() })
	return "http://" + listener.Addr().String() + "/hooks/default/generic"
}

func benchBody(events int) []byte {
	list := make([]genericEvent, events)
	for i := range list {
		list[i] = genericEvent{Category: "errors", Title: "Disk full on db-1", Text: "/var is at 100 %.", Severity: "critical", Labels: map[string]string{"host": "db-1"}}
	}
	body, err := json.Marshal(map[string]any{"events": list})
	if err != nil {
		panic(err)
	}
	return body
}

// benchHandler decodes the same JSON and answers a reply of the same size.
func benchHandler(b *testing.B, reply []byte) string {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var webhook struct{ Events []genericEvent }
		if err != nil || json.Unmarshal(body, &webhook) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		w.Write(reply)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

func askSeedScript(client *redis.Client, channel, category int64) func(ctx context.Context, events int) bool {
	script := redis.NewScript(redistest.Yardstick) //nolint:forbidigo // the rival, not one of ours
	return func(ctx context.Context, _ int) bool {
		n, err := script.Run(ctx, client, []string{"seed:channel", "seed:category"}, channel, category, 1_000_000).Int()
		if err != nil {
			panic(err)
		}
		return n == 1
	}
}

// benchRelay runs a whole relay in this process on its Redis, after some events, and answers where to post
// and what it replies.
func benchRelay(b *testing.B, cfg configs.Config, events int) (url string, reply []byte) {
	b.Helper()
	cfg.Listen, cfg.OpsListen, cfg.Drain = "127.0.0.1:0", "127.0.0.1:0", 0
	r, err := assemble(cfg, surroundings{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // ended in Cleanup, when b.Context has ended already
	public, ops, err := r.listen(ctx)
	if err != nil {
		b.Fatal(err)
	}
	done := newTask(ctx, func(context.Context) error { return r.serve(ctx, public, ops) })
	b.Cleanup(func() {
		cancel()
		<-done.done
		r.close()
	})
	url = "http://" + public.Addr().String() + "/hooks/default/generic"
	for range 11 {
		reply = postOnce(b, url, benchBody(events))
	}
	return url, reply
}

func postOnce(b *testing.B, url string, body []byte) []byte {
	b.Helper()
	response, err := benchClient.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusAccepted {
		b.Fatalf("%d %s %v", response.StatusCode, answer, err)
	}
	return answer
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
