package notifier

import (
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// SilenceNotice says in a channel that a silence was made, ends soon, or has ended.
type SilenceNotice struct {
	Phase    string           `json:"phase"` // "made", "soon" or "ended"
	Author   string           `json:"author"`
	Reason   string           `json:"reason"`
	Matchers []events.Matcher `json:"matchers"`
	MadeAt   time.Time        `json:"made_at"`
	StartsAt time.Time        `json:"starts_at"`
	EndsAt   time.Time        `json:"ends_at"`
	Muted    int64            `json:"muted"`              // events in the channel so far
	Firing   int64            `json:"firing"`             // alerts that it mutes in the channel and that still fire
	AtLeast  bool             `json:"at_least,omitempty"` // Firing may be more
	Early    bool             `json:"early,omitempty"`    // it ended before its time
}

// silence renders a notice of a silence: what it means for the channel in the headline, and below it what is muted, why, and since
// when.
func (r Renderer) silence(n Notice) Message {
	s := n.Silence
	m := Message{ID: n.ID, Color: digestColor}
	what := escaped(matchersInWords(s.Matchers), maxHeadline)
	at := func(t time.Time) string { return date(t, "{date_short_pretty} {time}") }
	var parts []string
	switch s.Phase {
	case "made":
		m.Text = "🔕 *Silenced until " + at(s.EndsAt) + "*"
		if s.StartsAt.Sub(s.MadeAt) > time.Minute {
			m.Text = "🔕 *Silenced from " + at(s.StartsAt) + " until " + at(s.EndsAt) + "*"
		}
	case "soon":
		m.Text = "⏰ *A silence ends at " + at(s.EndsAt) + "*, and " + s.firing()
		m.Color = styles[events.Warning].color
	default:
		m.Text = "🔔 *A silence has ended*"
		if s.Early {
			m.Text = "🔔 *A silence was ended early*"
		}
		if s.Firing > 0 {
			m.Text += ", and " + s.firing()
		}
	}
	parts = append(parts, "by "+escaped(oneLine(s.Author), maxLabelShown)+": "+escaped(oneLine(s.Reason), maxHeadline))
	if s.Phase != "made" || s.Muted > 0 {
		parts = append(parts, fmt.Sprintf("%d %s muted here", s.Muted, plural(s.Muted, "event")))
	}
	if address := r.Pages.Silence(n.Channel); address != "" {
		parts = append(parts, link(address, "Silences", maxLabelShown))
	}
	m.Text += ": " + what
	m.Blocks = []slack.Block{slack.NewContextBlock("", mrkdwn(cutMarkup(strings.Join(parts, " · "), maxContext)))}
	m.Fallback = cutMarkup(strings.Join(parts, " · "), maxFallback)
	return m
}

// firing says how many alerts still fire.
func (s *SilenceNotice) firing() string {
	switch {
	case s.AtLeast:
		return fmt.Sprintf("at least %d alerts still fire", s.Firing)
	case s.Firing == 1:
		return "1 alert still fires"
	default:
		return fmt.Sprintf("%d alerts still fire", s.Firing)
	}
}

// matchersInWords says which events matchers match: "category is disk and team is not core".
func matchersInWords(matchers []events.Matcher) string {
	words := make([]string, len(matchers))
	for i, m := range matchers {
		field := strings.TrimPrefix(m.Field, "label.")
		switch {
		case m.Is != nil && m.Not:
			words[i] = field + " is not " + *m.Is
		case m.Is != nil:
			words[i] = field + " is " + *m.Is
		case m.Matches != nil && m.Not:
			words[i] = field + " does not match " + *m.Matches
		case m.Matches != nil:
			words[i] = field + " matches " + *m.Matches
		case m.Not:
			words[i] = field + " is none of " + strings.Join(m.In, ", ")
		default:
			words[i] = field + " is " + strings.Join(m.In, " or ")
		}
	}
	return oneLine(strings.Join(words, " and "))
}
