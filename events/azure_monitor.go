package events

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

// azureMonitor is the common alert schema of Azure Monitor
// (https://learn.microsoft.com/en-us/azure/azure-monitor/alerts/alerts-common-schema).
var azureMonitor = source{
	name:    "azure_monitor",
	aliases: []string{"azure"},
	marks:   marks{fields: []string{"schemaId", "data"}},
	claims: func(in input) bool {
		return in.text("schemaId") == "azureMonitorCommonAlertSchema" || in.child("data").has("essentials")
	},
	decode: one(decodeAzureMonitor),
}

func decodeAzureMonitor(in input) Event {
	essentials := in.child("data", "essentials")
	event := Event{
		Category: essentials.text("alertRule"), Title: cmp.Or(essentials.text("alertRule"), "Azure alert"),
		Text: joined("\n", essentials.text("description"), conditions(in.objects("data", "alertContext", "condition", "allOf")),
			azureContext(in.child("data", "alertContext"))),
		Fingerprint: cmp.Or(essentials.text("originAlertId"), essentials.text("alertId")), StartedAt: timeOf(essentials.text("firedDateTime")),
	}
	event.setSeverity(azureSeverity(essentials.text("severity")))
	event.setStatus(essentials.text("monitorCondition"))
	event.endAt(essentials.text("resolvedDateTime"))
	event.setLabel("severity", essentials.text("severity"))
	event.setLabel("target", strings.Join(essentials.texts("configurationItems"), ", "))
	event.setLabel("signal", essentials.text("signalType"))
	event.setLabel("service", essentials.text("monitoringService"))
	event.addLabels(in.child("data", "customProperties"))
	event.azureLinks(in.child("data", "alertContext"))
	event.addLink("Azure", "investigation_link", cmp.Or(essentials.text("investigationLink"), azureLink(essentials.text("alertId"))))
	return event
}

// azureSeverity is our word: Sev0 is critical, Sev1 an error, Sev2 a warning, and the rest is information.
func azureSeverity(word string) string {
	return cmp.Or(map[string]string{"Sev0": "critical", "Sev1": "error", "Sev2": "warning", "Sev3": "info", "Sev4": "info"}[word], word)
}

// azureLink is the alert's page in the portal.
func azureLink(id string) string {
	if !strings.HasPrefix(id, "/subscriptions/") || strings.ContainsAny(id, "<> ") {
		return ""
	}
	return "https://portal.azure.com/#blade/Microsoft_Azure_Monitoring/AlertDetailsTemplateBlade/alertId/" + url.QueryEscape(id)
}

// azureContext adds what a log alert of the older kind counted, or the subject of an alert of the activity log.
func azureContext(context object) string {
	lines := []string{context.text("SearchQuery")}
	if results := context.text("ResultCount"); results != "" {
		lines = append(lines, joined(" ", results, "results,", context.text("Operator"), context.text("Threshold")))
	}
	operation := context.text("operationName")
	if operation != "" {
		operation = joined(" ", operation, strings.ToLower(context.text("status")), named("by", context.text("caller")))
	}
	properties := context.child("properties") // of a service health or resource health alert
	return joined("\n", append(lines, operation, properties.text("title"), properties.text("cause"))...)
}

// azureLinks adds the pages with the results of a log alert.
func (e *Event) azureLinks(context object) {
	e.addLink("Results", "results_link", context.text("LinkToSearchResults"))
	e.addLink("Results", "results_link", context.text("LinkToFilteredSearchResultsUI"))
	for _, c := range context.objects("condition", "allOf") {
		e.addLink("Results", "results_link", cmp.Or(c.text("linkToFilteredSearchResultsUI"), c.text("linkToSearchResultsUI")))
	}
}

// conditions lists what was measured, and the thresholds.
func conditions(all []object) string {
	var lines []string
	for _, c := range all {
		name := cmp.Or(c.text("metricName"), c.text("searchQuery"), c.text("metricMeasureColumn"))
		if name == "" {
			continue
		}
		line := strings.TrimSpace(fmt.Sprintf("%s %s", c.text("timeAggregation"), name))
		if value := c.text("metricValue"); value != "" {
			line += " is " + value
		}
		lines = append(lines, joined(" ", line+",", c.text("operator"), c.text("threshold")))
	}
	return strings.Join(lines, "\n")
}
