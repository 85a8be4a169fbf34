package slackapp

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// webhookPath is the path of an incoming webhook of Slack: workspace, webhook, secret.
var webhookPath = regexp.MustCompile(`^/services/[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]+$`)

// Webhook returns what can be known of an incoming webhook from its URL, without posting to it. The finding has no part of the
// URL but its host, because the rest is a secret.
func Webhook(subject, address string) Finding {
	f := Finding{Subject: subject, Grade: Fault, Remedy: "copy the URL of the app's page Incoming Webhooks again, completely"}
	u, err := url.Parse(address)
	switch {
	case isPlaceholder(address):
		f.Message = "has a placeholder as slack_webhook_url"
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		f.Message = "has a slack_webhook_url that is not a URL"
	case isWorkflow(u.Path):
		f.Message = "has a workflow trigger as slack_webhook_url, which accepts no messages"
		f.Remedy = "use an incoming webhook"
	case !IsSlack(address):
		return Finding{Subject: subject, Grade: OK, Message: fmt.Sprintf("posts to %s, which is not Slack; only a message can test it", u.Host)}
	case u.Scheme != "https":
		f.Message = "has a slack_webhook_url without https"
	case !webhookPath.MatchString(u.Path):
		f.Message = "has a slack_webhook_url that is not of the form https://" + u.Host + "/services/T…/B…/…"
	default:
		return Finding{Subject: subject, Grade: OK, Message: "posts to an incoming webhook, which only a message can test"}
	}
	return f
}

// isWorkflow tells the paths of Slack's workflow triggers from those of incoming webhooks.
func isWorkflow(path string) bool {
	return strings.HasPrefix(path, "/workflows/") || strings.HasPrefix(path, "/triggers/")
}
