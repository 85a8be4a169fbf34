package notifier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Digest is a summary of the events of a channel that were dropped, and of the messages that expired.
type Digest struct {
	ID         string
	Channel    string // the name in the relay
	Post       int64  `json:",omitempty"` // the number of the entry that posts it, which its edits share
	From, Last time.Time
	Closed     bool // no more events will be added
	Reasons    []DigestReason
	Categories []DigestCategory
	Titles     []DigestTitle
	// Reference is what the buttons of the digest are for; the zero value is no buttons.
	Reference Reference    `json:",omitzero"`
	Steps     *DigestSteps `json:",omitempty"` // nil = not known; the digest has no chart
}

// DigestReason is how many events were dropped for one reason.
type DigestReason struct {
	Reason string // in words, for example "category limit (10 per 30 minutes)"
	Count  int64
}

// DigestCategory are the counts of one category, by severity and by status.
type DigestCategory struct {
	Name             string
	Silent           bool // no event of it was posted
	Dropped          map[events.Severity]int64
	Expired          map[events.Severity]int64
	Firing, Resolved int64 // of the events that are dropped or expired; others have no status
	Posted           int64 // events of it that were admitted in the time of the chart
}

// DigestTitle is how many events with this title were dropped.
type DigestTitle struct {
	Title string
	Count int64
}

// digestColor is the colour of messages about others, which have no severity.
const digestColor = "#868e96"

// Entries that a digest lists; the rest is counted.
const (
	maxDigestCategories = 20
	maxDigestSilent     = 8
	maxDigestReasons    = 5
	maxDigestTitles     = 5
)

// Digest renders a digest. What was not heard at all comes first, then why events were dropped, a chart of the time, a table of
// the categories, and the most frequent titles. Chart and table have the full width. There is room for one more block.
func (r Renderer) Digest(d Digest) Message {
	slices.SortStableFunc(d.Categories, func(a, b DigestCategory) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.total(), a.total()), cmp.Compare(a.Name, b.Name))
	})
	m := Message{ID: "digest:" + d.ID, Color: digestColor, Wide: true, Text: d.headline()}
	plain := []string{}
	add := func(text string) *slack.SectionBlock {
		return slack.NewSectionBlock(mrkdwn(cutMarkup(text, maxSection)), nil, nil)
	}
	show := func(text string) {
		if text != "" {
			m.Blocks = append(m.Blocks, add(text))
			plain = append(plain, text)
		}
	}
	show(m.Text)
	show(d.summary())
	chart, table, text := d.Steps.chart(), d.table(), d.dataText()
	m.Blocks = append(m.Blocks, chart...)
	m.Blocks = append(m.Blocks, table...)
	if len(chart)+len(table) > 0 {
		m.Instead = []slack.Block{add(text)}
		plain = append(plain, text)
	} else {
		show(text)
	}
	show(d.titles())
	m.Links = d.span() + " · " + r.digestLinks(d)
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(m.Links)))
	m.Fallback = cutMarkup(strings.Join(plain[1:], "\n"), maxFallback)
	r.addDigestButtons(&m, d)
	return m
}

// headline returns what a phone shows: how much was held back, and the categories that were not heard at all.
func (d Digest) headline() string {
	dropped, expired := int64(0), int64(0)
	var silent []string
	for _, c := range d.Categories {
		dropped, expired = dropped+sum(c.Dropped), expired+sum(c.Expired)
		if c.Silent {
			silent = append(silent, styles[c.worst()].icon+" *"+escaped(c.Name, maxLabelShown)+"*")
		}
	}
	text := fmt.Sprintf("📋 *%s* in %s", digestHeadline(dropped, expired), escaped(d.Channel, maxLabelShown))
	if len(silent) == 0 {
		return text
	}
	shown := strings.Join(silent[:min(len(silent), maxDigestSilent)], ", ")
	if more := len(silent) - maxDigestSilent; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return text + "\n🔇 Not heard at all: " + shown
}

func digestHeadline(dropped, expired int64) string {
	var parts []string
	if dropped > 0 || expired == 0 {
		parts = append(parts, fmt.Sprintf("%d %s held back", dropped, plural(dropped, "event")))
	}
	if expired > 0 {
		parts = append(parts, fmt.Sprintf("%d %s expired before Slack took %s", expired, plural(expired, "message"),
			map[bool]string{true: "it", false: "them"}[expired == 1]))
	}
	return strings.Join(parts, ", ")
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// summary says why events were dropped, and what they are: severities, and firing apart from resolved.
func (d Digest) summary() string {
	var lines, why []string
	reasons := slices.SortedStableFunc(slices.Values(d.Reasons), func(a, b DigestReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	for _, reason := range reasons[:min(len(reasons), maxDigestReasons)] {
		text := escaped(reason.Reason, maxLabelShown)
		if len(reasons) > 1 {
			text += fmt.Sprintf(": %d", reason.Count)
		}
		why = append(why, text)
	}
	if len(why) > 0 {
		lines = append(lines, "Why: "+strings.Join(why, " · "))
	}
	bySeverity := map[events.Severity]int64{}
	var firing, resolved int64
	for _, c := range d.Categories {
		firing += c.Firing
		resolved += c.Resolved
		for _, severity := range severityOrder {
			bySeverity[severity] += c.Dropped[severity] + c.Expired[severity]
		}
	}
	var what []string
	for _, severity := range severityOrder {
		if n := bySeverity[severity]; n > 0 {
			what = append(what, fmt.Sprintf("%s %d %s", styles[severity].icon, n, severity))
		}
	}
	text := "What: " + strings.Join(what, "  ")
	if firing > 0 {
		text += fmt.Sprintf(" · %d firing", firing)
	}
	if resolved > 0 {
		text += fmt.Sprintf(" · %d resolved", resolved)
	}
	if len(what) > 0 {
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// rank sorts categories without any posted event first, the most severe of them before the others.
func (c DigestCategory) rank() int {
	if c.Silent {
		return slices.Index(severityOrder, c.worst())
	}
	return len(severityOrder)
}

// worst returns the highest severity of the events that were not heard.
func (c DigestCategory) worst() events.Severity {
	for _, severity := range severityOrder {
		if c.Dropped[severity]+c.Expired[severity] > 0 {
			return severity
		}
	}
	return events.Warning
}

func (c DigestCategory) total() int64 { return sum(c.Dropped) + sum(c.Expired) }

func (d Digest) titles() string {
	all := slices.SortedStableFunc(slices.Values(d.Titles), func(a, b DigestTitle) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Title, b.Title))
	})
	var lines []string
	for _, t := range all[:min(len(all), maxDigestTitles)] {
		line := escaped(oneLine(t.Title), maxLine)
		if t.Count > 1 {
			line = fmt.Sprintf("%d × %s", t.Count, line)
		}
		if t.Title != "" {
			lines = append(lines, "• "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// span says which time the digest covers.
func (d Digest) span() string {
	text := date(d.From, "{time}") + " to " + date(d.Last, "{time}")
	if !d.Closed {
		text += ", so far"
	}
	return text
}

// digestLinks links to what was held back and to the form for a silence, or names the command where the dashboard's address is not
// known.
func (r Renderer) digestLinks(d Digest) string {
	if r.Pages == "" {
		return "all of them: `relay drops list --channel " + escaped(d.Channel, maxLabelShown) + "`"
	}
	return link(r.Pages.Drops(d.Channel), "All that was held back", maxLabelShown) + " · " +
		link(r.Pages.Silence(d.Channel), "Silence", maxLabelShown)
}

func sum(counts map[events.Severity]int64) (n int64) {
	for _, count := range counts {
		n += count
	}
	return n
}
