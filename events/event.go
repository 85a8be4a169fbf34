// Package events decodes the webhooks of alerting systems into events, and classifies events by rules.
//
// A source is a body format. Each is a variable in a file of its own with its names, how it is recognised and its decoder; see
// source.go. Decoding is strict where a mistake would go unnoticed (a wrong type is an error that names the field) and
// lenient where a sender leaves something out. Text of a sender is never trusted: its size is bounded here, and it is escaped
// where it is shown.
package events

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one thing that happened, decoded from a webhook. Texts are bounded by [Limits] and not escaped.
type Event struct {
	ID          string            `json:"id"`                    // unique within channel, source and scope; see [Decoder.Decode]
	Source      string            `json:"source"`                // the body format: "generic", "alertmanager"
	Sender      string            `json:"sender,omitempty"`      // the name of the credential, or the remote address
	Channel     string            `json:"channel"`               // where it goes
	Category    string            `json:"category"`              // as [NormalizeCategory] returns it
	Severity    Severity          `json:"severity"`              // never empty
	Status      Status            `json:"status,omitempty"`      // firing, resolved or none
	Title       string            `json:"title,omitempty"`       // one line
	Text        string            `json:"text,omitempty"`        // may have many lines
	Links       []Link            `json:"links,omitempty"`       // the most useful first
	Labels      map[string]string `json:"labels,omitempty"`      // without empty values
	Annotations map[string]string `json:"-"`                     // of an alert; they decide its channel, and are not stored
	Note        string            `json:"note,omitempty"`        // a remark of the relay
	Fingerprint string            `json:"fingerprint,omitempty"` // the same for all events of one alert
	Group       string            `json:"-"`                     // the sender's name of the group that the webhook reports; "" = none
	StartedAt   time.Time         `json:"started_at,omitzero"`   // when it began; zero = unknown
	ReplayOf    string            `json:"replay_of,omitempty"`   // the id of the event that an operator replayed with this one
	Forced      bool              `json:"forced,omitempty"`      // the operator replayed it past the limits
	Slack       *SlackMessage     `json:"slack,omitempty"`       // the original message of a Slack-shaped sender
	Test        bool              `json:"test,omitempty"`        // it came through the test lane
	Tracked     bool              `json:"tracked,omitempty"`     // its sender asks what becomes of it
	Scope       string            `json:"scope,omitempty"`       // the credential within which its id is unique; "" = the channel
	Shortened   int               `json:"shortened,omitempty"`   // the original size in bytes if the event was shortened, else 0
	Follows     string            `json:"follows,omitempty"`     // the id of the event after which the relay made this one
	Hold        *time.Duration    `json:"-"`                     // how long a rule holds it; nil = as long as its channel does
	Trace       string            `json:"trace,omitempty"`       // the W3C traceparent of the webhook; "" = not traced
}

// Link is an address that [ParseLink] accepts, with its title.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// setLabel adds a label, unless the value is empty or the event has a label of that name.
func (e *Event) setLabel(name, value string) {
	if value == "" {
		return
	}
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	if _, exists := e.Labels[name]; !exists {
		e.Labels[name] = value
	}
}

// addLabels adds labels with the names and texts of these fields; of all fields if none is named.
func (e *Event) addLabels(from object, names ...string) {
	for _, name := range names {
		e.setLabel(name, from.text(name))
	}
	if names != nil {
		return
	}
	for _, m := range from {
		e.setLabel(m.name, textOf(m.value))
	}
}

// addLink adds a link, or a label with this name if the address is not a link.
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

// ParseLink parses an address that a reader can follow: an absolute http or https URL that is not too long for Slack. The
// result is meaningless unless ok is true.
func ParseLink(address string) (link *url.URL, ok bool) {
	u, err := url.Parse(address)
	ok = err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && len(address) <= maxURL
	return u, ok
}

// isLink reports whether [ParseLink] accepts an address. Most links are plain and are not parsed: a webhook of 20 alerts has
// 40 of them, and parsing would add a fifth to its allocations.
func isLink(address string) bool {
	if isPlainLink(address) {
		return true
	}
	_, ok := ParseLink(address)
	return ok
}

// isPlainLink reports whether an address is certainly a link: a host name in lower case, perhaps a port, and printable ASCII
// with valid escapes.
func isPlainLink(address string) bool {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "https" && scheme != "http" || len(address) > maxURL {
		return false
	}
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	name, port, _ := strings.Cut(host, ":")
	return name != "" && isOnly(name, isHostByte) && isOnly(port, isDigit) && isPlainASCII(rest)
}

// isPlainASCII reports whether a text is printable ASCII without spaces in which each "%" begins an escape.
func isPlainASCII(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c > '~' {
			return false
		}
		if c == '%' && (i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2])) {
			return false
		}
	}
	return true
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

// cut truncates a text to limit characters; the last one is an ellipsis if something was removed.
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
