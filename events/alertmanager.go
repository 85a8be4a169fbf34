package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// alertmanager is the webhook of Prometheus Alertmanager, version 4, one event per alert
// (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
var alertmanager = source{
	name: "alertmanager",
	claims: func(body shape) bool {
		return body.has("alerts") && (body.has("groupLabels") || body.has("commonLabels") || body.has("groupKey"))
	},
	decode: decodeAlertmanager,
}

type alertmanagerWebhook struct {
	Status          string              `json:"status"`
	ExternalURL     string              `json:"externalURL"`
	GroupLabels     map[string]string   `json:"groupLabels"`
	CommonLabels    map[string]string   `json:"commonLabels"`
	TruncatedAlerts float64             `json:"truncatedAlerts"`
	Alerts          []alertmanagerAlert `json:"alerts"`
}

type alertmanagerAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

func decodeAlertmanager(body []byte) ([]Event, error) {
	var hook alertmanagerWebhook
	if err := unmarshal(body, &hook, ""); err != nil {
		return nil, err
	}
	all := make([]Event, 0, len(hook.Alerts))
	for i, alert := range hook.Alerts {
		event, err := hook.event(alert, fmt.Sprintf("alerts[%d]", i))
		if err != nil {
			return nil, err
		}
		all = append(all, event)
	}
	return all, nil
}

func (w alertmanagerWebhook) event(alert alertmanagerAlert, at string) (Event, error) {
	name := cmp.Or(alert.Labels["alertname"], w.GroupLabels["alertname"], w.CommonLabels["alertname"])
	event := Event{
		Category:    name,
		Title:       cmp.Or(alert.Annotations["summary"], name, "Alert without a name"),
		Text:        cmp.Or(alert.Annotations["description"], alert.Annotations["message"]),
		Labels:      alert.Labels,
		Fingerprint: cut(cmp.Or(alert.Fingerprint, fingerprintOf(alert.Labels)), maxID),
	}
	if alert.StartsAt != "" {
		started, err := time.Parse(time.RFC3339, alert.StartsAt)
		if err != nil {
			return Event{}, badField(at+".startsAt", "is not an RFC 3339 time: %q", cut(alert.StartsAt, 40))
		}
		event.StartedAt = started
	}
	event.setSeverity(alert.Labels["severity"])
	event.setStatus(cmp.Or(alert.Status, w.Status))
	event.addLink("Source", "generator_url", alert.GeneratorURL)
	event.addLink("Runbook", "runbook_url", alert.Annotations["runbook_url"])
	event.addLink("Alertmanager", "external_url", w.ExternalURL)
	if n := int64(w.TruncatedAlerts); n > 0 {
		event.Note = fmt.Sprintf("Alertmanager left %d more out of this webhook (max_alerts).", n)
	}
	return event, nil
}

// fingerprintOf stands in where Alertmanager sent none: the same labels are the same alert.
func fingerprintOf(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	h := sha256.New()
	for _, name := range sortedKeys(labels) {
		fmt.Fprintf(h, "%q=%q,", name, labels[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
