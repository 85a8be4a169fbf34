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
)

// severityOrder lists the severities, worst first.
var severityOrder = []events.Severity{events.Critical, events.Error, events.Warning, events.Info}

// bundle renders several events as one message: how many of them are in which state, and a list, the worst first.
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
	if counts.firing+counts.unfollowed == 0 {
		look = resolvedStyle
	}
	headline := fmt.Sprintf("%s %s*%s* — %s", look.icon, testMark(lead), escaped(lead.Category, maxHeadline), counts)
	m := Message{Color: look.color, ID: n.Events[0].ID, Text: headline}
	if counts.firing > 0 {
		m.Text = r.withMention(headline, lead)
	}
	list := r.list(n, all)
	m.Blocks = []slack.Block{slack.NewSectionBlock(mrkdwn(list), nil, nil)}
	context := escaped(lead.Category+" · "+lead.Source, maxContext)
	if end := n.end(); counts.firing+counts.unfollowed == 0 && end != "" {
		context += " · " + end
	}
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(context)))
	m.Fallback = escaped(Plain(Message{Text: list}), maxFallback)
	return m
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

// list is the lines of a bundle.
func (r Renderer) list(n Notification, sorted []NotificationEvent) string {
	shown := min(len(sorted), maxListed)
	lines := make([]string, 0, maxListed+1)
	for _, e := range sorted[:shown] {
		lines = append(lines, r.line(e))
	}
	if rest := n.unlisted(sorted[shown:]); rest != "" {
		lines = append(lines, rest)
	}
	return cutMarkup(strings.Join(lines, "\n"), maxSection)
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
		if e.ResolvedAt.After(whole.ResolvedAt) {
			whole.ResolvedAt = e.ResolvedAt
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

func (r Renderer) line(e NotificationEvent) string {
	look := styleOf(e.Event)
	if e.isResolved() {
		look = resolvedStyle
	}
	title := r.escape(titleOf(e.Event), maxLine)
	if len(e.Links) > 0 {
		title = link(e.Links[0].URL, titleOf(e.Event), maxLine)
	}
	if !e.ResolvedAt.IsZero() {
		title += " (" + e.resolution() + ")"
	}
	return look.icon + " " + title
}
