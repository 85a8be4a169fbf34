package notifier

import (
	"slices"
	"strings"
	"time"

	"slackrelay/events"
)

// list is the events of a bundle with what tells them apart.
type list struct {
	events    []NotificationEvent // sorted; at least one
	prefix    string              // the words that all titles begin with, up to a colon, or the title that all have
	stripped  int                 // the bytes of a title that belong to the prefix
	differing []string            // names of labels that not all have with one value, the most telling first
	alike     bool                // the texts differ in nothing but these labels
	mixed     bool                // those that have not ended differ in severity
}

func newList(all []NotificationEvent) list {
	l := list{events: all}
	l.prefix, l.stripped = sharedPrefix(all)
	l.differing = differingLabels(all)
	first := l.withoutLabels(all[0])
	l.alike = !slices.ContainsFunc(all[1:], func(e NotificationEvent) bool { return l.withoutLabels(e) != first })
	for _, e := range all {
		l.mixed = l.mixed || !e.isResolved() && e.Severity != all[0].Severity
	}
	return l
}

// sharedPrefix returns what all titles begin with, up to a colon, and its length with the colon; the whole title if all are the
// same.
func sharedPrefix(all []NotificationEvent) (prefix string, length int) {
	first := titleOf(all[0].Event)
	end := strings.Index(first, ": ")
	same := true
	for _, e := range all[1:] {
		title := titleOf(e.Event)
		same = same && title == first
		if end >= 0 && !strings.HasPrefix(title, first[:end+2]) {
			end = -1
		}
		if !same && end < 0 {
			return "", 0
		}
	}
	if same {
		return first, len(first)
	}
	return first[:end], end + 2
}

// differingLabels returns the names of the labels of which not all events have the same value, those of places first.
func differingLabels(all []NotificationEvent) []string {
	var names []string
	for _, e := range all {
		for name, value := range e.Labels {
			if slices.Contains(names, name) || slices.Contains(silent[""], name) {
				continue
			}
			if slices.ContainsFunc(all, func(other NotificationEvent) bool { return other.Labels[name] != value }) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, byPlace)
	return names
}

// maxTelling is how many labels a line has beside its title.
const maxTelling = 2

// telling returns what tells an event from the others: its title without what all titles share, and the labels that differ, unless
// the title names them. Labels that are no places are named only where nothing else tells anything.
func (l list) telling(e NotificationEvent) string {
	title := titleOf(e.Event)
	rest := title[min(l.stripped, len(title)):]
	said := strings.ToLower(rest)
	var parts []string
	for _, name := range l.differing {
		value := truncateLabel(oneLine(e.Labels[name]))
		tells := placeRank(name) < len(places) || rest == "" && parts == nil
		if value == "" || !tells || len(parts) == maxTelling || strings.Contains(said, strings.ToLower(value)) || saysValue(said, strings.ToLower(value)) {
			continue
		}
		if rest == "" && parts == nil {
			parts = append(parts, value)
		} else {
			parts = append(parts, name+"="+value)
		}
	}
	if rest != "" {
		parts = slices.Insert(parts, 0, rest)
	}
	if parts == nil {
		return title
	}
	return strings.Join(parts, separator)
}

// maxDetail bounds what a line tells of an event's text, in characters.
const maxDetail = 120

// detail returns the first line of the text of an event whose title tells only labels, unless all texts are alike.
func (l list) detail(e NotificationEvent) string {
	if l.prefix == "" || l.alike || e.isResolved() {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
	return cutMarkup(oneLine(first), maxDetail)
}

// withoutLabels returns the text of an event without the values of the labels that differ.
func (l list) withoutLabels(e NotificationEvent) string {
	text := e.Text
	for _, name := range l.differing {
		if value := e.Labels[name]; len(value) >= minSaid {
			text = strings.ReplaceAll(text, value, "…")
		}
	}
	return text
}

// shared returns an event with what all events of a bundle have in common. Its title is the name of the alert in its sender's own
// words.
func (n Notification) shared(all []NotificationEvent, lead events.Event) events.Event {
	s := events.Event{
		Title: subject(all), Text: strings.TrimSpace(lead.Text), Source: lead.Source, Channel: lead.Channel, Category: lead.Category,
		Severity: lead.Severity, Status: lead.Status, Note: lead.Note, Links: slices.Clone(lead.Links), Labels: map[string]string{},
	}
	for name, value := range lead.Labels {
		s.Labels[name] = value
	}
	for _, e := range all {
		for name, value := range s.Labels {
			if e.Labels[name] != value {
				delete(s.Labels, name)
			}
		}
		s.Links = slices.DeleteFunc(s.Links, func(l events.Link) bool { return l.Image || !slices.Contains(e.Links, l) })
		if strings.TrimSpace(e.Text) != s.Text || e.isResolved() {
			s.Text = ""
		}
		if e.Note != s.Note {
			s.Note = ""
		}
	}
	for _, l := range lead.Links {
		if l.Title == silenceLink && !slices.Contains(s.Links, l) {
			s.Links = append(s.Links, sharedSilence(l, s.Labels)...)
		}
	}
	s.StartedAt = earliest(all, func(e NotificationEvent) bool { return !e.isResolved() })
	if s.StartedAt.IsZero() {
		s.StartedAt = earliest(all, func(NotificationEvent) bool { return true })
	}
	return s
}

// earliest returns when the first of some events began; zero = unknown.
func earliest(all []NotificationEvent, counts func(NotificationEvent) bool) (at time.Time) {
	for _, e := range all {
		if counts(e) && !e.StartedAt.IsZero() && (at.IsZero() || e.StartedAt.Before(at)) {
			at = e.StartedAt
		}
	}
	return at
}

// minSubject is the fewest words that titles must share to name a bundle.
const minSubject = 2

// subject returns what a bundle is about: the name of the rule that made its alerts, as the sender writes it, the words that all
// titles begin with, or the category.
func subject(all []NotificationEvent) string {
	lead := all[0].Event
	name := ownName(lead)
	for _, label := range []string{name, lead.Labels["alertname"]} {
		if label != "" && !slices.ContainsFunc(all, func(e NotificationEvent) bool {
			return e.Labels["alertname"] != label && e.Labels["rulename"] != label
		}) {
			return oneLine(label)
		}
	}
	words := strings.Fields(titleOf(lead))
	for _, e := range all[1:] {
		other := strings.Fields(titleOf(e.Event))
		same := 0
		for same < min(len(words), len(other)) && words[same] == other[same] {
			same++
		}
		words = words[:same]
	}
	for len(words) > 0 && slices.Contains(linking, strings.ToLower(words[len(words)-1])) {
		words = words[:len(words)-1]
	}
	if len(words) < minSubject {
		return lead.Category
	}
	return strings.TrimRight(strings.Join(words, " "), ":,;-–— ")
}

// linking are words that do not end a name.
var linking = []string{"on", "of", "in", "at", "for", "is", "has", "the", "a", "an", "with", "to", "from", "by", "-", "–", "—", ":", "are"}
