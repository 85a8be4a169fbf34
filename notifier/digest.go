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
	From, Last time.Time
	Closed     bool // no more events will be added
	Categories []DigestCategory
	Titles     []DigestTitle
	// Reference is what the buttons of the digest are for; the zero value is no buttons.
	Reference Reference `json:",omitzero"`
}

// DigestCategory are the counts of one category by severity.
type DigestCategory struct {
	Name    string
	Silent  bool // no event of it was posted
	Dropped map[events.Severity]int64
	Expired map[events.Severity]int64
}

// DigestTitle is how many events with this title were dropped.
type DigestTitle struct {
	Title string
	Count int64
}

// Entries that a digest lists; the rest is counted.
const (
	maxDigestCategories = 20
	maxDigestTitles     = 5
)

// Digest renders a digest: the totals, then the categories, those without any posted event first.
func (r Renderer) Digest(d Digest) Message {
	slices.SortStableFunc(d.Categories, func(a, b DigestCategory) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.total(), a.total()), cmp.Compare(a.Name, b.Name))
	})
	dropped, expired := int64(0), int64(0)
	var silent, lines []string
	for i, c := range d.Categories {
		dropped, expired = dropped+sum(c.Dropped), expired+sum(c.Expired)
		if c.Silent {
			silent = append(silent, "*"+escaped(c.Name, maxLabelShown)+"*")
		}
		if i < maxDigestCategories {
			lines = append(lines, c.line())
		}
	}
	if more := len(d.Categories) - maxDigestCategories; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more categories", more))
	}
	headline := digestHeadline(dropped, expired)
	m := Message{ID: "digest:" + d.ID, Color: "#868e96", Text: fmt.Sprintf("📋 *%s* in %s", headline, escaped(d.Channel, maxLabelShown))}
	add := func(text string) {
		m.Blocks = append(m.Blocks, slack.NewSectionBlock(mrkdwn(cutMarkup(text, maxSection)), nil, nil))
	}
	if len(silent) > 0 {
		add("Nothing got through of " + strings.Join(silent[:min(len(silent), maxDigestCategories)], ", "))
	}
	add(strings.Join(lines, "\n"))
	if titles := d.titles(); titles != "" {
		add(titles)
	}
	about := date(d.From, "{time}") + " to " + date(d.Last, "{time}")
	if !d.Closed {
		about += ", so far"
	}
	m.Blocks = append(m.Blocks, slack.NewContextBlock("",
		mrkdwn(about+" · all of them: `relay drops list --channel "+escaped(d.Channel, maxLabelShown)+"`")))
	m.Fallback = escaped(headline+": "+strings.Join(lines, "; "), maxFallback)
	r.addDigestButtons(&m, d)
	return m
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

// rank sorts categories without any posted event first.
func (c DigestCategory) rank() int {
	if c.Silent {
		return 0
	}
	return 1
}

func (c DigestCategory) total() int64 { return sum(c.Dropped) + sum(c.Expired) }

// line returns a category with its counts by severity.
func (c DigestCategory) line() string {
	var parts []string
	for _, severity := range severityOrder {
		if n := c.Dropped[severity]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", styles[severity].icon, n))
		}
	}
	if n := sum(c.Expired); n > 0 {
		parts = append(parts, fmt.Sprintf("⌛ %d expired", n))
	}
	return escaped(c.Name, maxLabelShown) + "  " + strings.Join(parts, "  ")
}

func (d Digest) titles() string {
	all := slices.SortedStableFunc(slices.Values(d.Titles), func(a, b DigestTitle) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Title, b.Title))
	})
	var lines []string
	for _, t := range all[:min(len(all), maxDigestTitles)] {
		if t.Title != "" {
			lines = append(lines, fmt.Sprintf("%d × %s", t.Count, escaped(oneLine(t.Title), maxLine)))
		}
	}
	return strings.Join(lines, "\n")
}

func sum(counts map[events.Severity]int64) (n int64) {
	for _, count := range counts {
		n += count
	}
	return n
}

// Notice is a message of the relay to its operators.
type Notice struct {
	ID      string `json:"id"`
	Channel string `json:"channel"` // the name in the relay
	Text    string `json:"text"`    // one sentence
	Detail  string `json:"detail,omitempty"`
}

// Notice renders a notice.
func (Renderer) Notice(n Notice) Message {
	m := Message{ID: n.ID, Color: styles[events.Error].color, Text: "🚨 *relay:* " + escaped(oneLine(n.Text), maxHeadline)}
	if n.Detail != "" {
		m.Blocks = []slack.Block{slack.NewContextBlock("", mrkdwn(escaped(n.Detail, maxContext)))}
		m.Fallback = escaped(n.Detail, maxFallback)
	}
	return m
}
