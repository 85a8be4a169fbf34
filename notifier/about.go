package notifier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
)

const (
	maxLabelsShown = 10
	maxLabelShown  = 80
	separator      = " · "
)

// about is a line of small print: its parts, as mrkdwn and as plain text.
type about struct{ markedParts, plainParts []string }

// add adds a part in plain text, unless it is empty.
func (a *about) add(part string) {
	if part != "" {
		a.addMarked(escaped(part, maxContext), part)
	}
}

func (a *about) addMarked(marked, plain string) {
	a.markedParts, a.plainParts = append(a.markedParts, marked), append(a.plainParts, plain)
}

// marked returns the line as mrkdwn.
func (a *about) marked() string { return cutMarkup(strings.Join(a.markedParts, separator), maxContext) }

// plain returns the line as plain text.
func (a *about) plain() string { return strings.Join(a.plainParts, separator) }

// about returns what is said about an event below its text: how bad it is, since when, where, what it is called and who sent it.
// What the headline says already is left out.
func (e NotificationEvent) about(headline string) *about {
	a := &about{}
	e.addState(a, string(e.Severity))
	said := strings.ToLower(headline)
	e.addLabels(a, said)
	e.addNames(a, said)
	if e.Shortened > 0 {
		a.add(shortenedNote(e.Event))
	}
	a.add(e.Note)
	return a
}

// addState adds how bad an event is and since when; of a resolved one, how long it lasted and how bad it was.
func (e NotificationEvent) addState(a *about, severity string) {
	if !e.isResolved() {
		a.addMarked("*"+severity+"*", severity)
		if !e.StartedAt.IsZero() {
			a.addMarked("since "+date(e.StartedAt, "{date_short_pretty} at {time}"), "since "+plainTime(e.StartedAt))
		}
		return
	}
	switch resolution := e.resolution(); {
	case resolution != "":
		a.addMarked(resolution, Plain(Message{Text: resolution}))
	case !e.StartedAt.IsZero():
		a.addMarked("began "+date(e.StartedAt, "{date_short_pretty} at {time}"), "began "+plainTime(e.StartedAt))
	}
	if e.speaksOfFiring() {
		a.add("was " + severity)
	}
}

// places are labels that say where something happened, the most telling first.
var places = []string{
	"instance", "host", "hostname", "node", "pod", "device", "mountpoint", "container", "service", "app", "application", "deployment",
	"queue", "topic", "database", "job", "namespace", "cluster", "region", "zone", "environment", "env",
}

// silent are labels that say nothing to a reader: they stand elsewhere in the message, or repeat the headline in the words of the
// sender's API.
var silent = map[string][]string{
	"": {
		"alertname", "severity", "notification_reason",
		"generator_url", "runbook_url", "external_url", "panel_url", "dashboard_url", "silence_url", "image_url",
	},
	"github":    {"action", "event", "conclusion"},
	"gitea":     {"action", "event", "conclusion"},
	"gitlab":    {"action", "event", "status"},
	"bitbucket": {"action", "event", "state"},
	"datadog":   {"transition", "alert_type", "monitor"},
	"opsgenie":  {"action"},
	"pagerduty": {"event"},
}

// forges are the sources whose headlines say what kind of event it is and where, as their categories do.
var forges = []string{"github", "gitea", "gitlab", "bitbucket"}

// labelNames returns the names of the labels that are shown, those of places first.
func (e NotificationEvent) labelNames(said string) []string {
	names := make([]string, 0, len(e.Labels))
	for name, value := range e.Labels {
		if !slices.Contains(silent[""], name) && !slices.Contains(silent[e.Source], name) && !saysValue(said, strings.ToLower(oneLine(value))) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, byPlace)
	return names
}

// byPlace compares names of labels: places first, the others by name.
func byPlace(a, b string) int {
	return cmp.Or(cmp.Compare(placeRank(a), placeRank(b)), cmp.Compare(a, b))
}

// placeRanks are the indexes of places.
var placeRanks = func() map[string]int {
	ranks := make(map[string]int, len(places))
	for i, name := range places {
		ranks[name] = i
	}
	return ranks
}()

// placeRank is the index of a label among the places; the others follow.
func placeRank(name string) int {
	if rank, ok := placeRanks[name]; ok {
		return rank
	}
	return len(places)
}

func (e NotificationEvent) addLabels(a *about, said string) {
	names := e.labelNames(said)
	shown := min(len(names), maxLabelsShown)
	for _, name := range names[:shown] {
		a.add(truncateLabel(name) + "=" + truncateLabel(oneLine(e.Labels[name])))
	}
	if more := len(names) - shown; more > 0 {
		a.add(fmt.Sprintf("%d more labels", more))
	}
}

// addNames adds the alert's own name or its category, and the source.
func (e NotificationEvent) addNames(a *about, said string) {
	name := e.Category
	if own := ownName(e.Event); own != "" {
		name = own
	}
	if name != events.Uncategorized && name != e.Source && !slices.Contains(forges, e.Source) && !saysWords(said, name) && !e.isLabel(name) {
		a.add(name)
	}
	if e.Source != "generic" {
		a.add(e.Source)
	}
}

// isLabel reports whether a category is the value of a label: that of a project, for example.
func (e NotificationEvent) isLabel(category string) bool {
	for _, value := range e.Labels {
		if strings.EqualFold(value, category) {
			return value != e.Labels["alertname"]
		}
	}
	return false
}

// ownName returns the name of the rule that made an alert, as its sender writes it; "" = the category was made of something else.
func ownName(e events.Event) string {
	for _, label := range []string{"alertname", "rulename"} {
		if name := e.Labels[label]; name != "" && (strings.EqualFold(name, e.Category) || events.NormalizeCategory(name) == e.Category) {
			return name
		}
	}
	return ""
}

// plainTime is a time in plain text.
func plainTime(at time.Time) string { return at.UTC().Format(time.DateTime + " UTC") }
