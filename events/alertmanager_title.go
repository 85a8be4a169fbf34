package events

import (
	"cmp"
	"slices"
	"strings"
)

// title is the summary of an alert. Where it has none, or where all alerts of the group have the same one, the labels follow
// that tell it from the others.
func (w *alertmanagerWebhook) title(alert alertmanagerAlert, name string) string {
	summary := cmp.Or(alert.Annotations["summary"], alert.Annotations["title"])
	if summary != "" && !w.alike {
		return summary
	}
	what := strings.TrimRight(cmp.Or(summary, name, "Alert without a name"), ".: ")
	return joined(": ", what, cut(w.telling(alert.Labels, summary), maxPath))
}

// maxTelling is how many labels a title has.
const maxTelling = 3

// places are labels that say where something happened, the most telling first.
var places = []string{"instance", "host", "hostname", "node", "pod", "device", "service"}

// telling returns the values of the labels that not all alerts of the group have, those of places first; without any, the
// value of the first place. What the text says already is left out.
func (w *alertmanagerWebhook) telling(labels labels, text string) string {
	var where, differing []string
	for i, name := range slices.Concat(places, sortedKeys(labels)) {
		value := labels[name]
		if value == "" || notTelling[name] || strings.Contains(text, value) {
			continue
		}
		if i < len(places) {
			where = append(where, value)
		}
		if w.CommonLabels[name] != value && !slices.Contains(differing, value) {
			differing = append(differing, value)
		}
	}
	if differing == nil && text == "" {
		differing = where[:min(len(where), 1)]
	}
	return strings.Join(differing[:min(len(differing), maxTelling)], ", ")
}

// notTelling are labels that stand elsewhere in a message.
var notTelling = map[string]bool{"alertname": true, "severity": true, "grafana_folder": true}
