package notifier

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"slackrelay/events"
)

// maxLinksShown is how many links a message has.
const maxLinksShown = 8

// Titles of links, as decoders write them.
const (
	runbookLink      = "Runbook"
	silenceLink      = "Silence"
	alertmanagerLink = "Alertmanager"
	sourceLink       = "Source"
)

// linkRanks sorts links: what helps most at night comes first. Others follow, in the order of their sender.
var linkRanks = map[string]int{runbookLink: -4, silenceLink: -3, "Panel": -2, "Dashboard": -2, sourceLink: -1, alertmanagerLink: 1}

// links returns the links of an event in the order in which they are shown: those of its sender, then those into the relay.
func (r Renderer) links(e events.Event) []events.Link {
	all := make([]events.Link, 0, len(e.Links)+3)
	for _, l := range e.Links {
		if l.Title == silenceLink && !canSilence(e) {
			continue
		}
		if l.Title == alertmanagerLink && e.Source == "alertmanager" {
			all = append(all, alertmanagerLinks(e, l.URL)...)
			continue
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b events.Link) int { return cmp.Compare(linkRanks[a.Title], linkRanks[b.Title]) })
	all = all[:min(len(all), maxLinksShown-2)]
	if r.Pages == "" || e.Channel == "" {
		return all
	}
	if canSilence(e) {
		title := silenceLink
		if slices.ContainsFunc(all, func(l events.Link) bool { return l.Title == silenceLink }) {
			title = "Silence in relay"
		}
		all = append(all, events.Link{Title: title, URL: r.Pages.Silence(e.Channel, silenceMatchers(e)...)})
	}
	return append(all, events.Link{Title: "Open in relay", URL: r.Pages.Channel(e.Channel)})
}

// canSilence reports whether there is something to silence: an alert that has not ended.
func canSilence(e events.Event) bool {
	return e.Status == events.Firing || e.Status == events.NoStatus && e.Severity != events.Info
}

// linkRow returns links as one line of mrkdwn.
func linkRow(links []events.Link) string {
	row := make([]string, 0, len(links))
	size := 0
	for _, l := range links {
		if safeURL(l.URL) == "" {
			continue
		}
		one := link(l.URL, l.Title, maxLabelShown)
		if size += characters(one) + characters(separator); size <= maxContext {
			row = append(row, one)
		}
	}
	return strings.Join(row, separator)
}

// alertmanagerLinks returns the links to a page of Alertmanager that shows these alerts, and to its form for a silence of them.
func alertmanagerLinks(e events.Event, root string) []events.Link {
	filter := alertmanagerFilter(e)
	if filter == "" {
		return []events.Link{{Title: alertmanagerLink, URL: root}}
	}
	root = strings.TrimRight(root, "/")
	all := []events.Link{{Title: alertmanagerLink, URL: root + "/#/alerts?filter=" + filter}}
	if canSilence(e) {
		all = append(all, events.Link{Title: silenceLink, URL: root + "/#/silences/new?filter=" + filter})
	}
	return all
}

// sharedSilence makes Grafana's link to the form for a silence of one alert a link for all alerts with these labels; none if they
// share none.
func sharedSilence(l events.Link, shared map[string]string) []events.Link {
	u, err := url.Parse(l.URL)
	if err != nil {
		return nil
	}
	query := u.Query()
	matchers := slices.DeleteFunc(query["matcher"], func(matcher string) bool {
		name, value, ok := strings.Cut(matcher, "=")
		return !ok || shared[name] != value
	})
	if len(matchers) == 0 {
		return nil
	}
	query["matcher"] = matchers
	u.RawQuery = query.Encode()
	return []events.Link{{Title: l.Title, URL: u.String()}}
}

// addedLabels are labels that Alertmanager does not know.
var addedLabels = []string{"notification_reason", "generator_url", "runbook_url", "external_url"}

// maxFilter bounds the filter in an address, in bytes.
const maxFilter = 1000

// alertmanagerFilter returns the labels of alerts as matchers of Alertmanager, for the query of an address; "" = they are too many
// or too long.
func alertmanagerFilter(e events.Event) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		value := e.Labels[name]
		if slices.Contains(addedLabels, name) {
			continue
		}
		if strings.HasSuffix(value, "…") { // it was cut
			return ""
		}
		if b.Len() > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "%s=%q", name, value)
	}
	filter := url.QueryEscape("{" + b.String() + "}")
	if b.Len() == 0 || len(filter) > maxFilter {
		return ""
	}
	return strings.ReplaceAll(filter, "+", "%20")
}

// Bounds of the matchers that a link into the form for a silence has.
const (
	maxSilenceLabels = 4
	maxSilenceValue  = 150
)

// silenceMatchers returns what a silence of an event starts with: its category, and where it happened.
func silenceMatchers(e events.Event) []string {
	matchers := []string{"category=" + e.Category}
	for _, name := range places {
		value := e.Labels[name]
		if value != "" && len(matchers) <= maxSilenceLabels && len(value) <= maxSilenceValue && !strings.ContainsAny(value, "\n\r…") {
			matchers = append(matchers, "label."+name+"="+value)
		}
	}
	return matchers
}
