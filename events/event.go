// Package events turns the webhooks of alerting systems into events.
//
// A source is a body format; each has one decoder, in a file of its own. Decoding is strict where a
// mistake would be silent (a wrong type is an error that names the field) and lenient where a sender
// merely says less than it could. What a sender writes is never trusted: fields are bounded here and
// escaped where they are shown.
package events

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one thing that happened, decoded from a webhook.
type Event struct {
	ID          string            `json:"id"`                    // unique within channel, source and scope; see [Decode]
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
	Forced      bool              `json:"forced,omitempty"`      // and had posted past the limits
	Slack       *SlackMessage     `json:"slack,omitempty"`       // of a sender that speaks Slack: what it wants to be shown
	Test        bool              `json:"test,omitempty"`        // of the test lane
	Scope       string            `json:"scope,omitempty"`       // the credential that ids are of, where the channel has several; "" = they are the channel's
	Shortened   int               `json:"shortened,omitempty"`   // how many bytes its sender said, where not all of it was kept
	Trace       string            `json:"trace,omitempty"`       // the traceparent of the webhook, as W3C Trace Context has it; "" = not traced
}

// Link is a place to look at.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
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
	if !isLink(address) {
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

// isLink tells whether an address can be followed; what is plainly one is not parsed for it.
func isLink(address string) bool {
	host, ok := strings.CutPrefix(address, "https://")
	if !ok {
		host, ok = strings.CutPrefix(address, "http://")
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	name, port, _ := strings.Cut(host, ":")
	plain := ok && name != "" && len(address) <= maxURL && isOnly(name, isHostByte) && isOnly(port, isDigit)
	for i := 0; plain && i < len(address); i++ {
		if c := address[i]; c <= ' ' || c > '~' {
			plain = false
		} else if c == '%' {
			plain = i+2 < len(address) && isHex(address[i+1]) && isHex(address[i+2])
		}
	}
	if !plain {
		_, ok = ParseLink(address)
	}
	return ok
}

func isOnly(text string, is func(byte) bool) bool {
	for i := range len(text) {
		if !is(text[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHostByte(c byte) bool { return 'a' <= c && c <= 'z' || isDigit(c) || c == '.' || c == '-' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

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

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
