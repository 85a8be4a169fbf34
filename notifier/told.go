package notifier

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

var slackID = regexp.MustCompile(`^[UWS][A-Z0-9]{2,}$`)

// Told is a message with what became of it since: one event, or those of a bundle.
type Told struct {
	Events []ToldEvent
	More   int64 // events of the bundle that are not among them
	// Over are those that are not among them either and are over, the last of which its end is known since OverAt.
	Over   int64
	OverAt time.Time
	// Unfollowed is how many of More will never be known to be over.
	Unfollowed int64
	// Repeats is how often it was told again, the last time at Last.
	Repeats int64
	Last    time.Time
	// Held is how many events of the category were held back since, the last one at HeldAt.
	Held      int64
	HeldAt    time.Time
	HeldTitle string
}

// ToldEvent is one event of a message.
type ToldEvent struct {
	events.Event
	ResolvedAt time.Time // zero = it is not resolved
}

// maxListed is how many events of a bundle are listed.
const maxListed = 10

// severityOrder is from the worst on.
var severityOrder = []events.Severity{events.Critical, events.Error, events.Warning, events.Info}

// Told says a message anew, or a bundle for the first time.
func (r Renderer) Told(t Told) Message {
	var m Message
	if len(t.Events) == 1 && t.More+t.Over == 0 {
		m = r.single(t.Events[0])
	} else {
		m = r.bundle(t)
	}
	switch since := t.since(); {
	case since == "":
	case m.Own != nil:
		m.Text = strings.TrimSpace(cutMarkup(m.Text, maxText-characters(since)-1) + "\n" + since)
	default:
		m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(since)))
		m.Fallback = cutMarkup(m.Fallback+"\n"+escaped(Plain(Message{Text: since}), maxHeadline), maxFallback)
	}
	return m
}

// single is one event, and how long it lasted where it is over.
func (r Renderer) single(e ToldEvent) Message {
	if e.ResolvedAt.IsZero() {
		return r.Render(e.Event)
	}
	e.Status = events.Resolved
	m := r.Render(e.Event)
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(e.lasted())))
	return m
}

// lasted says when an event was over.
func (e ToldEvent) lasted() string {
	at := date(e.ResolvedAt, "{time}")
	if e.StartedAt.IsZero() || !e.ResolvedAt.After(e.StartedAt) {
		return "resolved at " + at
	}
	return "resolved after " + forHumans(e.ResolvedAt.Sub(e.StartedAt)) + ", at " + at
}

// since says what became of a message.
func (t Told) since() string {
	var said []string
	if t.Repeats > 0 {
		said = append(said, fmt.Sprintf("told again %s, last at %s", times(t.Repeats), date(t.Last, "{time}")))
	}
	if t.Held > 0 {
		said = append(said, fmt.Sprintf("and %d more, last at %s: %s", t.Held, date(t.HeldAt, "{time}"), escaped(oneLine(t.HeldTitle), maxHeadline)))
	}
	return strings.Join(said, " · ")
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// bundle lists events that came together, the worst first, as a group of alerts is shown.
func (r Renderer) bundle(t Told) Message {
	all := slices.Clone(t.Events)
	slices.SortStableFunc(all, func(a, b ToldEvent) int { return rank(a) - rank(b) })
	lead := all[0]
	open, over := t.More-t.Unfollowed, t.Over
	for _, e := range all {
		if e.over() {
			over++
		} else {
			open++
		}
	}
	if open > 0 && lead.Status == events.Resolved { // all that are listed are over
		lead.Status = events.Firing
	}
	style, count := styleOf(lead.Event), []string{}
	if over == 0 { // then nobody waits for its end
		open += t.Unfollowed
		t.Unfollowed = 0
	}
	if open > 0 {
		count = append(count, fmt.Sprintf("%d firing", open))
	}
	if over > 0 {
		count = append(count, fmt.Sprintf("%d resolved", over))
	}
	if t.Unfollowed > 0 {
		count = append(count, fmt.Sprintf("%d not followed", t.Unfollowed))
	} else if open == 0 {
		style = resolvedLook
	}
	headline := fmt.Sprintf("%s %s*%s* — %s", style.icon, testMark(lead.Event), escaped(lead.Category, maxHeadline), strings.Join(count, ", "))
	m := Message{Color: style.color, ID: t.Events[0].ID, Text: headline}
	if open > 0 {
		m.Text = r.calling(headline, lead.Event)
	}
	lines := make([]string, 0, maxListed+1)
	for _, e := range all[:min(len(all), maxListed)] {
		lines = append(lines, r.line(e))
	}
	if more := t.unlisted(all); more != "" {
		lines = append(lines, more)
	}
	text := cutMarkup(strings.Join(lines, "\n"), maxSection)
	m.Blocks = []slack.Block{slack.NewSectionBlock(mrkdwn(text), nil, nil)}
	context := escaped(lead.Category+" · "+lead.Source, maxContext)
	if ended := t.ended(); open+t.Unfollowed == 0 && ended != "" {
		context += " · " + ended
	}
	m.Blocks = append(m.Blocks, slack.NewContextBlock("", mrkdwn(context)))
	m.Fallback = escaped(Plain(Message{Text: text}), maxFallback)
	return m
}

// unlisted says how many events are not listed, and how they stand where some of them are over.
func (t Told) unlisted(sorted []ToldEvent) string {
	open, over := t.More, t.Over
	for _, e := range sorted[min(len(sorted), maxListed):] {
		if e.over() {
			over++
		} else {
			open++
		}
	}
	switch {
	case open+over == 0:
		return ""
	case over == 0:
		return fmt.Sprintf("… and %d more", open)
	case open == 0 && t.OverAt.IsZero():
		return fmt.Sprintf("… and %d more, all resolved", over)
	case open == 0:
		return fmt.Sprintf("… and %d more, all resolved, the last at %s", over, date(t.OverAt, "{time}"))
	case open == t.Unfollowed:
		return fmt.Sprintf("… and %d more: %d resolved, %d not followed", open+over, over, open)
	case t.Unfollowed > 0:
		return fmt.Sprintf("… and %d more: %d firing, %d resolved, %d not followed", open+over, open-t.Unfollowed, over, t.Unfollowed)
	default:
		return fmt.Sprintf("… and %d more: %d firing, %d resolved", open+over, open, over)
	}
}

// ended says when the last of a bundle was over, and how long after the first began.
func (t Told) ended() string {
	whole := ToldEvent{ResolvedAt: t.OverAt}
	for _, e := range t.Events {
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
	return "all " + whole.lasted()
}

func (e ToldEvent) over() bool { return e.Status == events.Resolved || !e.ResolvedAt.IsZero() }

// rank orders the events of a bundle: open ones first, the worst first.
func rank(e ToldEvent) int {
	n := slices.Index(severityOrder, e.Severity)
	if e.over() {
		n += len(severityOrder)
	}
	return n
}

// maxLine is how much of an event a line of a bundle shows.
const maxLine = 200

func (r Renderer) line(e ToldEvent) string {
	style := styleOf(e.Event)
	if e.over() {
		style = resolvedLook
	}
	title := r.untrusted(titleOf(e.Event), maxLine)
	if len(e.Links) > 0 {
		title = link(e.Links[0].URL, titleOf(e.Event), maxLine)
	}
	if !e.ResolvedAt.IsZero() {
		title += " (" + e.lasted() + ")"
	}
	return style.icon + " " + title
}

// forHumans is a duration in its two largest units.
func forHumans(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}
