package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// bareCommand is the first argument of this program where it serves the bare handlers.
const bareCommand = "bare"

// startBare starts this program once more as an HTTP server that does the least that a relay must: it parses the same JSON with
// encoding/json into a struct, and answers a reply of the same size.
func (b *bench) startBare(ctx context.Context, eventReply, alertsReply int) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("bare handler: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, b.dir, bareCommand, nil, self, bareCommand, address, strconv.Itoa(eventReply), strconv.Itoa(alertsReply))
	if err != nil {
		return nil, "", err
	}
	if err := p.await(ctx, "bare handler", startWithin, func() bool { return answers(ctx, address) }); err != nil {
		p.kill()
		return nil, "", err
	}
	return p, "http://" + address, nil
}

// serveBare serves on an address until the process is killed: /event and /alerts, with replies of so many bytes.
func serveBare(args []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /event", bareHandler[eventWebhook](args[1]))
	mux.HandleFunc("POST /alerts", bareHandler[alertsWebhook](args[2]))
	server := &http.Server{Addr: args[0], Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
}

func bareHandler[webhook any](replySize string) http.HandlerFunc {
	size, _ := strconv.Atoi(replySize) // it is written by startBare
	reply := bytes.Repeat([]byte("x"), size)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var decoded webhook
		if err != nil || json.Unmarshal(body, &decoded) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(reply) // the sender may be gone
	}
}

// eventWebhook is an event in the relay's own format.
type eventWebhook struct {
	Category string            `json:"category"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	Severity string            `json:"severity"`
	Labels   map[string]string `json:"labels"`
}

// alertsWebhook is Alertmanager's body (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
type alertsWebhook struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []alert           `json:"alerts"`
}

type alert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

// oneEvent is a webhook of one event.
func oneEvent() eventWebhook {
	return eventWebhook{
		Category: "errors", Title: "Disk full on db-1", Text: "/var is at 100 %.", Severity: "critical",
		Labels: map[string]string{"host": "db-1"},
	}
}

// manyAlerts is a webhook of so many alerts of one rule, as Alertmanager sends for a deployment that fails.
func manyAlerts(n int) alertsWebhook {
	webhook := alertsWebhook{
		Version: "4", GroupKey: `{}:{alertname="HighErrorRate"}`, Status: "firing", Receiver: "relay",
		ExternalURL:  "http://alertmanager.example:9093",
		GroupLabels:  map[string]string{"alertname": "HighErrorRate"},
		CommonLabels: map[string]string{"alertname": "HighErrorRate", "cluster": "prod-eu", "severity": "critical"},
	}
	for i := range n {
		pod := fmt.Sprintf("checkout-7d9f8c6b5-%05d", i)
		webhook.Alerts = append(webhook.Alerts, alert{
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
			GeneratorURL: "http://prometheus.example:9090/graph?g0.expr=rate%28http_requests_total%7Bcode%3D~%225..%22%7D%5B5m%5D%29&g0.tab=1",
		})
	}
	return webhook
}
