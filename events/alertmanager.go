package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// alertmanager is the webhook of Prometheus Alertmanager, version 4, one event per alert
// (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
var alertmanager = source{
	name:    "alertmanager",
	aliases: []string{"prometheus"},
	marks:   marks{fields: []string{"alerts"}},
	claims: func(in input) bool {
		return in.has("alerts") && (in.has("groupLabels") || in.has("commonLabels") || in.has("groupKey"))
	},
	decode: decodeAlertmanager,
}

type alertmanagerWebhook struct {
	Status          string              `json:"status"`
	ExternalURL     string              `json:"externalURL"`
	GroupKey        string              `json:"groupKey"`
	GroupLabels     labels              `json:"groupLabels"`
	CommonLabels    labels              `json:"commonLabels"`
	TruncatedAlerts float64             `json:"truncatedAlerts"`
	Reason          string              `json:"notification_reason"`
	Alerts          []alertmanagerAlert `json:"alerts"`

	linked bool // ExternalURL is a link; all alerts share it
	alike  bool // there are several alerts, all with the same summary
}

type alertmanagerAlert struct {
	Status       string `json:"status"`
	Labels       labels `json:"labels"`
	Annotations  labels `json:"annotations"`
	StartsAt     string `json:"startsAt"`
	EndsAt       string `json:"endsAt"`
	GeneratorURL string `json:"generatorURL"`
	Fingerprint  string `json:"fingerprint"`
}

// usualGroup is the capacity that lists of alerts start with.
const usualGroup = 20

// read sets the fields of a webhook in one pass; ok is false if one has another type than expected.
func (w *alertmanagerWebhook) read(body jsontext.Value) (ok bool) {
	r := reader{body: body}
	r.fields(func(name string) {
		switch name {
		case "status":
			w.Status = r.text()
		case "externalURL":
			w.ExternalURL = r.text()
		case "groupKey":
			w.GroupKey = r.text()
		case "groupLabels":
			w.GroupLabels = r.labels()
		case "commonLabels":
			w.CommonLabels = r.labels()
		case "truncatedAlerts":
			w.TruncatedAlerts = r.number()
		case "notification_reason":
			w.Reason = r.text()
		case "alerts":
			w.Alerts = make([]alertmanagerAlert, 0, usualGroup)
			r.items(func() {
				w.Alerts = append(w.Alerts, alertmanagerAlert{})
				w.Alerts[len(w.Alerts)-1].read(&r)
			})
		}
	})
	return !r.mismatch
}

func (a *alertmanagerAlert) read(r *reader) {
	r.fields(func(name string) {
		switch name {
		case "status":
			a.Status = r.text()
		case "labels":
			a.Labels = r.labels()
		case "annotations":
			a.Annotations = r.labels()
		case "startsAt":
			a.StartsAt = r.text()
		case "endsAt":
			a.EndsAt = r.text()
		case "generatorURL":
			a.GeneratorURL = r.text()
		case "fingerprint":
			a.Fingerprint = r.text()
		}
	})
}

func decodeAlertmanager(in input) ([]Event, error) {
	var hook alertmanagerWebhook
	if !hook.read(in.body) { // decode again with reflection, for the error
		hook = alertmanagerWebhook{}
		if err := unmarshal(in.body, &hook, ""); err != nil {
			return nil, err
		}
	}
	hook.linked = isLink(hook.ExternalURL)
	hook.alike = len(hook.Alerts) > 1 && !slices.ContainsFunc(hook.Alerts[1:], func(a alertmanagerAlert) bool {
		return a.Annotations["summary"] != hook.Alerts[0].Annotations["summary"]
	})
	return each(hook.Alerts, in.limits, hook.event)
}

func (w *alertmanagerWebhook) event(alert alertmanagerAlert, index int) (Event, error) {
	name := cmp.Or(alert.Labels["alertname"], w.GroupLabels["alertname"], w.CommonLabels["alertname"])
	event := Event{
		Category:    name,
		Title:       w.title(alert, name),
		Text:        cmp.Or(alert.Annotations["description"], alert.Annotations["message"]),
		Labels:      alert.Labels,
		Annotations: alert.Annotations,
		Fingerprint: alert.Fingerprint,
		Group:       w.GroupKey,
		Links:       make([]Link, 0, 4),
	}
	if event.Fingerprint == "" {
		event.Fingerprint = fingerprintOf(alert.Labels)
	}
	if alert.StartsAt != "" {
		started, err := time.Parse(time.RFC3339, alert.StartsAt)
		if err != nil {
			return Event{}, badField(fmt.Sprintf("alerts[%d].startsAt", index), "%q is not a time; use RFC 3339, for example 2026-11-20T07:00:00Z",
				cut(alert.StartsAt, maxTime))
		}
		event.StartedAt = started
	}
	event.setSeverity(alert.Labels["severity"])
	event.setStatus(cmp.Or(alert.Status, w.Status))
	event.endAt(alert.EndsAt)
	event.setLabel("notification_reason", w.Reason)
	event.addLink("Source", "generator_url", alert.GeneratorURL)
	event.addLink("Runbook", "runbook_url", alert.Annotations["runbook_url"])
	if w.linked {
		event.Links = append(event.Links, Link{Title: "Alertmanager", URL: w.ExternalURL})
	} else {
		event.addLink("Alertmanager", "external_url", w.ExternalURL)
	}
	if n := int64(w.TruncatedAlerts); n > 0 {
		event.Note = fmt.Sprintf("Alertmanager left %d more out of this webhook (max_alerts).", n)
	}
	return event, nil
}

// maxTime is how much of a time an error repeats, in characters.
const maxTime = 40

// fingerprintOf returns a fingerprint where Alertmanager sent none: equal labels are the same alert.
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
