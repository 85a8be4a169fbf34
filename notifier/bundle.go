package notifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

const (
	maxListed = 10  // events of a bundle that are listed
	maxLine   = 200 // characters of an event's title in the list
	maxIntro  = 600 // characters of the text that all events share
)

// severityOrder lists the severities, worst first.
var severityOrder = []events.Severity{events.Critical, events.Error, events.Warning, events.Info}

// bundle renders several events as one message: how many of them are in which state, a list with what tells each from the others,
// the worst first, and below it once what they have in common.
func (r Renderer) bundle(n Notification) Message {
	all := slices.Clone(n.Events)
	slices.SortStableFunc(all, func(a, b NotificationEvent) int { return listOrder(a) - listOrder(b) })
	counts := n.count(all)
	if counts.resolved == 0 { // as long as nothing is resolved, readers do not wait for the rest
		counts.firing += counts.unfollowed
		counts.unfollowed = 0
	}
	n.Unfollowed = counts.unfollowed
	lead := all[0].Event
	if counts.firing > 0 && lead.Status == events.Resolved { // every listed event is resolved
		lead.Status = events.Firing
	}
	look := styleOf(lead)
	shared := n.shared(all, lead)
	if counts.firing+counts.unfollowed == 0 {
		look, shared.Status = resolvedStyle, events.Resolved
	}
	list := newList(all)
	headline := fmt.Sprintf("%s %s*%s* — %s", look.icon, testMark(lead), escaped(shared.Title, maxHeadline), counts)
	m := Message{Color: look.color, ID: n.Events[0].ID, Text: headline}
	if counts.firing > 0 {
		m.Text = r.withMention(headline, lead)
	}
	text := cutMarkup(strings.Join(append(r.intro(list, shared), r.lines(n, list)...), "\n"), maxSection)
	m.Blocks = []slack.Block{slack.NewSectionBlock(mrkdwn(text), nil, nil)}
	about := n.about(all, shared)
	m.addContext(about.marked())
	m.Links = linkRow(r.links(shared))
	m.addContext(m.Links)
	m.Fallback = escaped(Plain(Message{Text: text})+"\n"+about.plain(), maxFallback)
	return m
}

// about returns what all events of a bundle have in common, since when, and how bad the worst of them is.
func (n Notification) about(all []NotificationEvent, shared events.Event) *about {
	a := &about{}
	common := NotificationEvent{Event: shared}
	if end := n.end(); shared.Status != events.Resolved {
		common.addState(a, severities(all, n.More))
	} else if end != "" {
		a.addMarked(end, Plain(Message{Text: end}))
	}
	said := strings.ToLower(shared.Title)
	common.addLabels(a, said)
	common.addNames(a, said)
	a.add(shared.Note)
	return a
}

// severities describes how bad the events of a bundle are that have not ended: "3 critical, 17 warning", or only the worst if they
// are alike or not all known.
func severities(sorted []NotificationEvent, more int64) string {
	count := map[events.Severity]int{}
	for _, e := range sorted {
		if !e.isResolved() {
			count[e.Severity]++
		}
	}
	var parts []string
	for _, severity := range severityOrder {
		if count[severity] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[severity], severity))
		}
	}
	if len(parts) < 2 || more > 0 {
		return string(sorted[0].Severity)
	}
	return strings.Join(parts, ", ")
}

// bundleCounts are the states of a bundle's events.
type bundleCounts struct{ firing, resolved, unfollowed int64 }

// count counts the events of a bundle by state: those that are given, and those that are known by their number only.
func (n Notification) count(given []NotificationEvent) bundleCounts {
	c := bundleCounts{firing: n.More - n.Unfollowed, resolved: n.Resolved, unfollowed: n.Unfollowed}
	for _, e := range given {
		if e.isResolved() {
			c.resolved++
		} else {
			c.firing++
		}
	}
	return c
}

// String lists the states that occur: "2 firing, 1 resolved".
func (c bundleCounts) String() string {
	var parts []string
	if c.firing > 0 {
		parts = append(parts, fmt.Sprintf("%d firing", c.firing))
	}
	if c.resolved > 0 {
		parts = append(parts, fmt.Sprintf("%d resolved", c.resolved))
	}
	if c.unfollowed > 0 {
		parts = append(parts, fmt.Sprintf("%d not followed", c.unfollowed))
	}
	return strings.Join(parts, ", ")
}

// intro is what all events of a bundle say alike, unless the headline says it already.
func (r Renderer) intro(l list, shared events.Event) []string {
	var all []string
	if l.prefix != "" && !strings.EqualFold(l.prefix, shared.Title) {
		all = append(all, r.escape(l.prefix, maxLine))
	}
	if shared.Text != "" && !strings.EqualFold(strings.TrimRight(shared.Text, "."), strings.TrimRight(l.prefix, ".")) {
		all = append(all, r.escape(shared.Text, maxIntro))
	}
	return all
}

// lines are the lines of a bundle.
func (r Renderer) lines(n Notification, l list) []string {
	shown := min(len(l.events), maxListed)
	lines := make([]string, 0, maxListed+1)
	for _, e := range l.events[:shown] {
		lines = append(lines, r.line(l, e))
	}
	if rest := n.unlisted(l.events[shown:]); rest != "" {
		lines = append(lines, rest+r.names(l, l.events[shown:]))
	}
	return lines
}

// maxNamed is how many events without a line of their own are named, and maxName the characters of such a name.
const (
	maxNamed = 10
	maxName  = 40
)

// names lists what tells the events apart that have no line of their own, where that is short and none of them has ended.
func (r Renderer) names(l list, rest []NotificationEvent) string {
	var names []string
	for _, e := range rest {
		name := l.telling(e)
		if l.prefix == "" || name == "" || e.isResolved() || characters(name) > maxName {
			return ""
		}
		names = append(names, r.escape(name, maxLine))
	}
	switch {
	case names == nil:
		return ""
	case len(names) > maxNamed:
		return ": " + strings.Join(names[:maxNamed], ", ") + ", …"
	default:
		return ": " + strings.Join(names, ", ")
	}
}

// unlisted describes the events without a line of their own: how many, and their states where some are resolved.
func (n Notification) unlisted(rest []NotificationEvent) string {
	c := n.count(rest)
	open := c.firing + c.unfollowed
	total := open + c.resolved
	switch {
	case total == 0:
		return ""
	case c.resolved == 0:
		return fmt.Sprintf("… and %d more", open)
	case open == 0 && n.LastResolvedAt.IsZero():
		return fmt.Sprintf("… and %d more, all resolved", c.resolved)
	case open == 0:
		return fmt.Sprintf("… and %d more, all resolved, the last at %s", c.resolved, date(n.LastResolvedAt, "{time}"))
	default:
		return fmt.Sprintf("… and %d more: %s", total, c)
	}
}

// end describes when the last event of a bundle was resolved, and how long after the first one began.
func (n Notification) end() string {
	whole := NotificationEvent{ResolvedAt: n.LastResolvedAt}
	for _, e := range n.Events {
		if end := e.endedAt(); end.After(whole.ResolvedAt) {
			whole.ResolvedAt = end
		}
		if !e.StartedAt.IsZero() && (whole.StartedAt.IsZero() || e.StartedAt.Before(whole.StartedAt)) {
			whole.StartedAt = e.StartedAt
		}
	}
	if whole.ResolvedAt.IsZero() {
		return ""
	}
	return "all " + whole.resolution()
}

// listOrder sorts the events of a bundle: open ones first, then by severity.
func listOrder(e NotificationEvent) int {
	order := slices.Index(severityOrder, e.Severity)
	if e.isResolved() {
		order += len(severityOrder)
	}
	return order
}

// line is one event of a bundle: what tells it from the others, and how long it lasted if it is resolved.
func (r Renderer) line(l list, e NotificationEvent) string {
	look := styleOf(e.current())
	what, detail := l.telling(e), l.detail(e)
	if what == l.prefix && detail != "" { // the title is above the list already
		what, detail = detail, ""
	}
	title := r.escape(what, maxLine)
	if len(e.Links) > 0 {
		title = link(e.Links[0].URL, what, maxLine)
	}
	if detail != "" {
		title += " — " + r.escape(detail, maxLine)
	}
	switch {
	case e.isResolved():
		if resolution := e.resolution(); resolution != "" {
			title += " (" + resolution + ")"
		}
	case l.mixed:
		title += separator + string(e.Severity)
	}
	return look.icon + " " + title
}
