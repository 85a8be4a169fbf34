// Package bare is what benchmarks compare the relay with: an HTTP handler that does the least that a relay must, and the webhooks
// that both are sent.
package bare

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Handler decodes webhooks of one format with encoding/json into a struct, and answers each with the same reply.
func Handler[webhook any](reply []byte) http.HandlerFunc {
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

// Event is a webhook of one event in the relay's own format.
type Event struct {
	Category string            `json:"category"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	Severity string            `json:"severity"`
	Labels   map[string]string `json:"labels"`
}

// Events is a webhook of many events in the relay's own format.
type Events struct {
	Events []Event `json:"events"`
}

// Alerts is a webhook of Alertmanager (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
type Alerts struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []Alert           `json:"alerts"`
}

// Alert is one of the alerts in Alertmanager's webhook.
type Alert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

// OneEvent returns a webhook of one event.
func OneEvent() Event {
	return Event{
		Category: "errors", Title: "Disk full on db-1", Text: "/var is at 100 %.", Severity: "critical",
		Labels: map[string]string{"host": "db-1"},
	}
}

// ManyEvents returns a webhook of n events of one category.
func ManyEvents(n int) Events {
	all := Events{Events: make([]Event, n)}
	for i := range all.Events {
		all.Events[i] = OneEvent()
	}
	return all
}

// ManyAlerts returns a webhook of n alerts of one rule, as Alertmanager sends it for a deployment that fails.
func ManyAlerts(n int) Alerts {
	all := Alerts{
		Version: "4", GroupKey: `{}:{alertname="HighErrorRate"}`, Status: "firing", Receiver: "relay",
		ExternalURL:  "http://alertmanager.example:9093",
		GroupLabels:  map[string]string{"alertname": "HighErrorRate"},
		CommonLabels: map[string]string{"alertname": "HighErrorRate", "cluster": "prod-eu", "severity": "critical"},
	}
	for i := range n {
		pod := fmt.Sprintf("checkout-7d9f8c6b5-%05d", i)
		all.Alerts = append(all.Alerts, Alert{
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
	return all
}

// JSON encodes one of the webhooks.
func JSON(webhook any) []byte {
	encoded, err := json.Marshal(webhook)
	if err != nil {
		panic(err) // all their fields can be encoded
	}
	return encoded
}
