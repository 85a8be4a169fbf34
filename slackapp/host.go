package slackapp

import (
	"net/url"
	"strings"
)

// domains are those of Slack, and of GovSlack, which has the same limits (https://docs.slack.dev/govslack).
var domains = []string{"slack.com", "slack-gov.com"}

// IsSlack reports whether the host of a URL is Slack's own, as opposed to a gateway or to another product.
func IsSlack(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, domain := range domains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// IsSlackAPI reports whether the Web API at a base URL is Slack's own; "" stands for it.
func IsSlackAPI(baseURL string) bool { return baseURL == "" || IsSlack(baseURL) }
