package test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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

	"slackrelay/configs"
	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
)

// BenchmarkAlertmanagerStorm posts webhooks of 20 alerts of a full category. x_plain is the rate relative to a handler that only
// decodes them into the same fields and encodes the same reply, both with encoding/json. The senders write prepared bytes, so
// that the server is measured.
func BenchmarkAlertmanagerStorm(b *testing.B) {
	cfg := configs.Default()
	cfg.RedisURL, cfg.Channels[0].Window = configs.Secret(redistest.Start(b).URL), time.Hour
	relayURL, _ := benchRelay(b, cfg, 1)
	relayURL = strings.Replace(relayURL, "/generic", "/alertmanager", 1)
	body := benchAlerts(20)
	postOnce(b, relayURL, body)
	var receipt pipeline.Receipt // the category is full
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

// hammer posts the same bytes from 16 connections for one turn, and returns the requests per second.
func hammer(b *testing.B, address string, body []byte) float64 {
	b.Helper()
	target, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	path := cmp.Or(target.Path, "/")
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path,
		len(body), body)
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
		Version: "4", GroupKey: `{}:{alertname="HighErrorRate"}`, Status: "firing", Receiver: "relay",
		ExternalURL:  "http://alertmanager.example:9093",
		GroupLabels:  map[string]string{"alertname": "HighErrorRate"},
		CommonLabels: map[string]string{"alertname": "HighErrorRate", "cluster": "prod-eu", "severity": "critical"},
	}
	for i := range n {
		pod := fmt.Sprintf("checkout-7d9f8c6b5-%05d", i)
		webhook.Alerts = append(webhook.Alerts, alertmanagerAlert{
			Status: "firing", StartsAt: time.Date(2026, 11, 20, 7, 0, i, 0, time.UTC), Fingerprint: fmt.Sprintf("%016x", i+1),
			Labels: map[string]string{
				"alertname": "HighErrorRate", "cluster": "prod-eu", "container": "checkout",
				"instance": fmt.Sprintf("10.0.3.%d:8080", i), "job": "kubernetes-pods",
				"namespace": "shop", "pod": pod, "severity": "critical",
			},
			Annotations: map[string]string{
				"summary":     "Error rate above 5 % on " + pod,
				"description": "The share of 5xx answers of " + pod + " in namespace shop is 7.3 % over the last 5 minutes.",
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
