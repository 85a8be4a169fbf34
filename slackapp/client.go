package slackapp

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/slack-go/slack"
)

// NewClient returns a client of the Web API at a base URL; "" = Slack's own. The retries of slack-go stay off: they would hide a 429
// from the caller.
func NewClient(token, apiURL string, client *http.Client) *slack.Client {
	return slack.New(token, clientOptions(apiURL, client)...)
}

func clientOptions(apiURL string, client *http.Client) []slack.Option {
	options := []slack.Option{slack.OptionHTTPClient(client)}
	if apiURL != "" {
		options = append(options, slack.OptionAPIURL(strings.TrimSuffix(apiURL, "/")+"/"))
	}
	return options
}

// channelID is the form of Slack's ids of channels.
var channelID = regexp.MustCompile(`^[CDG][A-Z0-9]{2,}$`)

// IsChannelID reports whether a text is the id of a Slack channel, as opposed to its name.
func IsChannelID(text string) bool { return channelID.MatchString(text) }
