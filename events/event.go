// Package events turns the webhooks of alerting systems into events.
//
// A source is a body format; each has one decoder, in a file of its own. Decoding is strict where a
// mistake would be silent (a wrong type is an error that names the field) and lenient where a sender
// merely says less than it could. What a sender writes is never trusted: fields are bounded here and
// escaped where they are shown.
package events

import (
	"net/url"
	"time"
	"unicode/utf8"
)

// Event is one thing that happened, decoded from a webhook.
type Event struct {
	ID          string            `json:"id"`                    // unique within channel and source; see [Decode]
	Source      string            `json:"source"`                // the body format: "generic", "alertmanager"
	Sender      string            `json:"sender,omitempty"`      // the name of the credential, or the remote address
	Channel     string            `json:"channel"`               // where it goes
	Category    string            `json:"category"`              // normalised; see [NormalizeCategory]
	Severity    Severity          `json:"severity"`              // never empty
	Status      Status            `json:"status,omitempty"`      // firing, resolved or none
	Title       string            `json:"title,omitempty"`       // one line
	Text        string            `json:"text,omitempty"`        // may have many lines
	Links       []Link            `json:"links,omitempty"`       // the most telling first
	Labels      map[string]string `json:"labels,omitempty"`      //
	Note        string            `json:"note,omitempty"`        // what the relay's decoder has to add
	Fingerprint string            `json:"fingerprint,omitempty"` // the same for all events of one alert
	StartedAt   time.Time         `json:"started_at,omitzero"`   // when it began; zero when not known
	ReplayOf    string            `json:"replay_of,omitempty"`   // the id of the event that a person sent again
}

// Link is a place to look at.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Bounds of what is kept of an event, in characters. More is cut, since Slack shows less still.
const (
	maxTitle     = 1000
	maxText      = 12_000
	maxLabels    = 64
	maxLabelName = 200
	maxLabel     = 1000
	maxURL       = 2000
	maxID        = 256
)

// bound cuts what is too long.
func (e *Event) bound() {
	e.Title, e.Text = cut(e.Title, maxTitle), cut(e.Text, maxText)
	all := e.Labels
	e.Labels = nil
	for i, name := range sortedKeys(all) {
		if i == maxLabels {
			break
		}
		e.setLabel(cut(name, maxLabelName), cut(all[name], maxLabel))
	}
}

// setLabel keeps what has no field of its own.
func (e *Event) setLabel(name, value string) {
	if value == "" {
		return
	}
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	if _, taken := e.Labels[name]; !taken {
		e.Labels[name] = value
	}
}

// addLink keeps a link that can be followed; any other text is kept as a label of that name.
func (e *Event) addLink(title, label, address string) {
	if address == "" {
		return
	}
	if _, ok := ParseLink(address); !ok {
		e.setLabel(label, address)
		return
	}
	e.Links = append(e.Links, Link{Title: title, URL: address})
}

// ParseLink parses an address that can be followed: absolute, http or https, and not too long for Slack.
func ParseLink(address string) (link *url.URL, ok bool) {
	u, err := url.Parse(address)
	ok = err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && len(address) <= maxURL
	return u, ok
}

// cut keeps the first limit characters, the last of them an ellipsis when something was lost.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	kept := 0
	for i := range s {
		if kept++; kept == limit {
			return s[:i] + "…"
		}
	}
	return s
}
