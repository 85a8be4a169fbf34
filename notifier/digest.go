package notifier

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// Digest says what was dropped, and what expired, in a channel.
type Digest struct {
	ID         string
	Channel    string // as the relay calls it
	From, Last time.Time
	Closed     bool // nothing will be added
	Categories []DigestCategory
	Titles     []DigestTitle
}

// DigestCategory is what a digest says of one category.
type DigestCategory struct {
	Name    string
	Silent  bool // nothing of it got through
	Dropped map[events.Severity]int64
	Expired map[events.Severity]int64
}

// DigestTitle is how often a title was dropped.
type DigestTitle struct {
	Title string
	Count int64
}

// What a digest lists; the rest is counted.
const (
	maxDigestCategories = 20
	maxDigestTitles     = 5
)

// Digest says a digest: how much, of what, the categories of which nothing got through at the top.
func (Renderer) Digest(d Digest) Message {
	slices.SortStableFunc(d.Categories, func(a, b DigestCategory) int {
		return cmp.Or(-compareBool(a.Silent, b.Silent), -cmp.Compare(a.total(), b.total()), cmp.Compare(a.Name, b.Name))
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
	headline := heldBack(dropped, expired)
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
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(about+" · all of them: `relay drops list --channel "+escaped(d.Channel, maxLabelShown)+"`")))
	m.Fallback = escaped(headline+": "+strings.Join(lines, "; "), maxFallback)
	return m
}

func heldBack(dropped, expired int64) string {
	var said []string
	if dropped > 0 || expired == 0 {
		said = append(said, fmt.Sprintf("%d %s held back", dropped, plural(dropped, "event")))
	}
	if expired > 0 {
		said = append(said, fmt.Sprintf("%d %s expired before Slack took %s", expired, plural(expired, "message"), map[bool]string{true: "it", false: "them"}[expired == 1]))
	}
	return strings.Join(said, ", ")
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func (c DigestCategory) total() int64 { return sum(c.Dropped) + sum(c.Expired) }

// line is a category with its counts by severity.
func (c DigestCategory) line() string {
	var parts []string
	for _, severity := range severityOrder {
		if n := c.Dropped[severity]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", looks[severity].icon, n))
		}
	}
	if n := sum(c.Expired); n > 0 {
		parts = append(parts, fmt.Sprintf("⌛ %d expired", n))
	}
	return escaped(c.Name, maxLabelShown) + "  " + strings.Join(parts, "  ")
}

func (d Digest) titles() string {
	all := slices.SortedStableFunc(slices.Values(d.Titles), func(a, b DigestTitle) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Title, b.Title))
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
	for _, count := range maps.All(counts) {
		n += count
	}
	return n
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Notice is something that the operators of the relay must know.
type Notice struct {
	ID      string `json:"id"`
	Channel string `json:"channel"` // of the relay
	Text    string `json:"text"`    // one sentence
	Detail  string `json:"detail,omitempty"`
}

// Notice says a notice.
func (Renderer) Notice(n Notice) Message {
	m := Message{ID: n.ID, Color: looks[events.Error].color, Text: "🚨 *relay:* " + escaped(oneLine(n.Text), maxHeadline)}
	if n.Detail != "" {
		m.Blocks = []slack.Block{slack.NewContextBlock("", mrkdwn(escaped(n.Detail, maxContext)))}
		m.Fallback = escaped(n.Detail, maxFallback)
	}
	return m
}
