package notifier

import (
	"net/url"
	"strings"
)

// Pages is the public address of the relay's dashboard (external_url), to which messages link. "" = it is unknown: all links
// are empty.
//
//	notifier.Pages("https://relay.example.com").Silence("alerts", "category=disk")
type Pages string

// Channel returns the address of a channel's part of the dashboard.
func (p Pages) Channel(channel string) string { return p.at(channel) }

// Drops returns the address of the list of a channel's drops.
func (p Pages) Drops(channel string) string { return p.at(channel, "show", "dropped") }

// Silence returns the address of the form for a silence of a channel, filled in with matchers as the form has them:
// category=disk, label.host=db-1.
func (p Pages) Silence(channel string, matchers ...string) string {
	parameters := make([]string, 0, 2*len(matchers)+2)
	parameters = append(parameters, "show", "silences")
	for _, matcher := range matchers {
		parameters = append(parameters, "matcher", matcher)
	}
	return p.at(channel, parameters...)
}

// at returns the address of a channel with parameters: names and values in turn. They stand in the fragment, which a browser
// does not send to the server.
func (p Pages) at(channel string, parameters ...string) string {
	if p == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(string(p), "/") + "/#" + url.PathEscape(channel))
	for i := 0; i+1 < len(parameters); i += 2 {
		b.WriteString("&" + parameters[i] + "=" + url.QueryEscape(parameters[i+1]))
	}
	return b.String()
}
