package events

import (
	"cmp"
	"slices"
	"strings"
)

// grafana is the webhook of Grafana: that of its unified alerting, which is Alertmanager's with more fields, one event per
// alert; and that of the alerting before version 9, one event
// (https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/).
var grafana = source{
	name:    "grafana",
	aliases: []string{"grafana_legacy"},
	rank:    variant, // of Alertmanager's format
	marks:   marks{fields: []string{"alerts", "ruleName", "ruleId", "evalMatches"}, headers: []string{grafanaSignature}},
	claims:  isGrafana,
	decode:  decodeGrafana,
}

// grafanaSignature is the header that only Grafana sends.
const grafanaSignature = "X-Grafana-Alerting-Signature"

func isGrafana(in input) bool {
	unified := in.has("alerts", "orgId") || in.has("alerts", "state", "title") || in.header.Get(grafanaSignature) != ""
	return unified || isLegacyGrafana(in)
}

func isLegacyGrafana(in input) bool {
	return in.has("ruleName", "state") || in.has("ruleId", "state") || in.has("evalMatches", "state")
}

type grafanaWebhook struct {
	alertmanagerWebhook
	Alerts  []grafanaAlert `json:"alerts"`
	Title   string         `json:"title"`
	Message string         `json:"message"`
	State   string         `json:"state"`
}

type grafanaAlert struct {
	alertmanagerAlert
	PanelURL     string `json:"panelURL"`
	DashboardURL string `json:"dashboardURL"`
	SilenceURL   string `json:"silenceURL"`
	ImageURL     string `json:"imageURL"`
	ValueString  string `json:"valueString"`
}

func decodeGrafana(in input) ([]Event, error) {
	if isLegacyGrafana(in) {
		return []Event{decodeLegacyGrafana(in)}, nil
	}
	var hook grafanaWebhook
	if err := unmarshal(in.body, &hook, ""); err != nil {
		return nil, err
	}
	hook.alike = len(hook.Alerts) > 1 && !slices.ContainsFunc(hook.Alerts[1:], func(a grafanaAlert) bool {
		return a.Annotations["summary"] != hook.Alerts[0].Annotations["summary"]
	})
	if len(hook.Alerts) > 0 || hook.Title == "" && hook.Message == "" {
		return each(hook.Alerts, in.limits, hook.event)
	}
	// A notification without alerts, from a template.
	event := Event{Category: hook.GroupLabels["alertname"], Title: hook.Title, Text: hook.Message}
	event.setSeverity(hook.CommonLabels["severity"])
	event.setStatus(cmp.Or(hook.State, hook.Status))
	event.addLink("Grafana", "external_url", hook.ExternalURL)
	return []Event{event}, nil
}

// Grafana's own alerts about a rule that could not be evaluated; the rule's name is a label.
var grafanaTroubles = map[string]string{"DatasourceNoData": "No data", "DatasourceError": "Query fails"}

func (w *grafanaWebhook) event(alert grafanaAlert, index int) (Event, error) {
	if strings.HasPrefix(alert.GeneratorURL, "/") { // Grafana does not know its own address
		alert.GeneratorURL = strings.TrimSuffix(w.ExternalURL, "/") + alert.GeneratorURL
	}
	event, err := w.alertmanagerWebhook.event(alert.alertmanagerAlert, index)
	if err != nil {
		return Event{}, err
	}
	if folder := alert.Labels["grafana_folder"]; folder != "" && alert.Annotations["summary"] == "" {
		event.Title = folder + " / " + event.Title
	}
	if trouble, ok := grafanaTroubles[alert.Labels["alertname"]]; ok && alert.Labels["rulename"] != "" {
		event.Category = alert.Labels["rulename"]
		event.Title = trouble + ": " + cmp.Or(alert.Annotations["summary"], alert.Labels["rulename"])
	}
	event.Text = cmp.Or(event.Text, alert.Annotations["Error"], values(alert.ValueString))
	own := event.Links
	event.Links = nil
	event.addLink("Panel", "panel_url", alert.PanelURL)
	event.addLink("Dashboard", "dashboard_url", alert.DashboardURL)
	for _, l := range own {
		switch {
		case l.Title != "Alertmanager":
			event.Links = append(event.Links, l)
		case len(event.Links) == 0: // the first page of Grafana helps only where there is no better one
			event.addLink("Grafana", "external_url", l.URL)
		}
	}
	event.addLink("Silence", "silence_url", alert.SilenceURL)
	event.addImage("Image", "image_url", alert.ImageURL)
	return event, nil
}

// values lists the values of a rule, "[ var='B' labels={...} value=17 ]", without their labels.
func values(text string) string {
	var lines []string
	for part := range strings.SplitSeq(text, "[ ") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(part, "var='"), "'")
		_, value, found := strings.Cut(rest, "value=")
		value, _, _ = strings.Cut(value, " ")
		if ok && found && value != "" {
			lines = append(lines, strings.TrimSuffix(name, "=")+" = "+value)
		}
	}
	return strings.Join(lines, ", ")
}

// maxMatches is how many values of a legacy rule are listed.
const maxMatches = 10

func decodeLegacyGrafana(o input) Event {
	labels := o.pairs("tags")
	event := Event{
		Category: cmp.Or(o.text("ruleName"), o.text("title")), Title: cmp.Or(withoutState(o.text("title")), o.text("ruleName"), "Grafana alert"),
		Text: joined("\n", o.text("message"), matches(o.objects("evalMatches"))), Labels: labels,
	}
	if rule := o.text("ruleId"); rule != "" && rule != "0" {
		event.Fingerprint = joined("-", named("org", o.text("orgId")), named("dashboard", o.text("dashboardId")),
			named("panel", o.text("panelId")), named("rule", rule))
	}
	event.setSeverity(labels["severity"])
	switch state := o.text("state"); state {
	case "no_data", "alert":
		event.Status = Firing
		event.setLabel("state", state)
	default:
		event.setStatus(state)
	}
	event.addLink("Rule", "rule_url", o.text("ruleUrl"))
	event.addImage("Image", "image_url", o.text("imageUrl"))
	return event
}

// withoutState removes the state that Grafana writes before the name of a legacy rule, which the message shows elsewhere.
func withoutState(title string) string {
	for _, state := range []string{"[Alerting]", "[OK]"} {
		if rest, ok := strings.CutPrefix(title, state); ok {
			return strings.TrimSpace(rest)
		}
	}
	return title
}

// matches lists the values that made a legacy rule fire.
func matches(list []object) string {
	var lines []string
	for _, match := range list {
		name := []string{match.text("metric")}
		tags := match.pairs("tags")
		for _, tag := range sortedKeys(tags) {
			name = append(name, tag+"="+tags[tag])
		}
		line := joined(": ", strings.TrimSpace(strings.Join(name, " ")), cmp.Or(match.text("value"), "no value"))
		if len(lines) < maxMatches && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
