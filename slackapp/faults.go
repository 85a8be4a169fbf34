package slackapp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/slack-go/slack"
)

const (
	addScope     = "add it under OAuth & Permissions, and install the app to the workspace again"
	installAgain = "install the app again, and use its new token"
	newWebhook   = "make a new incoming webhook, and set slack_webhook_url to it"
	inviteBot    = "invite the bot: /invite @" + appName + " in the Slack channel"
)

// phrase is what a code of Slack means, and what to do about it.
type phrase struct{ message, remedy string }

// tokenFaults are the codes that refuse a token, whatever it is used for. The message completes "The token ...".
var tokenFaults = map[string]phrase{
	"invalid_auth":     {"is not known to Slack", "copy the Bot User OAuth Token again, completely"},
	"not_authed":       {"was not sent", "set slack_token"},
	"account_inactive": {"belongs to an app that was removed from the workspace", installAgain},
	"token_revoked":    {"was revoked", installAgain},
	"token_expired": {
		"has expired, because token rotation is on", "turn token rotation off: create the app from relay slack manifest",
	},
	"not_allowed_token_type": {"has the wrong kind", "use the Bot User OAuth Token, which begins with xoxb-"},
	"missing_scope":          {"lacks a scope", "compare its scopes with relay slack manifest, and install the app to the workspace again"},
}

// otherFaults are the other codes that have words. The message completes "The channel ..." or "The message ...".
var otherFaults = map[string]phrase{
	"team_access_not_granted": {
		"is in a workspace that the organisation has not given the app access to",
		"ask an administrator of the organisation to add the app to the workspace",
	},
	"org_login_required": {"cannot be used while the workspace moves to an organisation", "try again later"},
	"ratelimited":        {"could not be checked: Slack limits the rate", "try again in a minute"},

	"channel_not_found":                     {"does not exist for the bot", "correct slack_channel; if the channel is private, " + inviteBot},
	"not_in_channel":                        {"does not have the bot as a member", inviteBot},
	"is_archived":                           {"is archived", "unarchive it, or set another slack_channel"},
	"channel_is_archived":                   {"is archived", "unarchive it, or set another slack_channel"},
	"restricted_action":                     {"does not let the bot post", letBotPost},
	"restricted_action_read_only_channel":   {"is read-only for the bot", letBotPost},
	"restricted_action_thread_only_channel": {"takes replies only", "set another slack_channel"},
	"posting_to_general_channel_denied":     {"does not let the bot post", letBotPost},
	"action_prohibited":                     {"does not let apps post", "ask an administrator of the workspace to allow the app"},
	"team_not_found":                        {"cannot be found by a token of the whole organisation", "set slack_channel to its id"},
	"no_service":                            {"has a webhook that was removed", newWebhook},
	"no_service_id":                         {"has a webhook that was removed", newWebhook},
	"no_active_hooks":                       {"has a webhook that is disabled", newWebhook},
	"invalid_token":                         {"has a webhook that was revoked", newWebhook},
	"no_team":                               {"has a webhook of a workspace that does not exist", newWebhook},
	"team_disabled":                         {"belongs to a workspace that is disabled", "ask an administrator of the workspace"},
	"unknown": {
		"may have been posted, and is not sent again", "look into the Slack channel; relay dead replay sends it again",
	},
}

const letBotPost = "let the bot post there: in the channel's settings, Posting permissions"

// Explain returns what a code of Slack means, and what to do about it: the message completes "The token ..." if
// [RefusesToken] reports true, else "The channel ...". A code without words is returned as Slack's answer.
func Explain(code string) (message, remedy string) {
	p, known := tokenFaults[code]
	if !known {
		p, known = otherFaults[code]
	}
	if !known {
		return "was refused by Slack: " + code, "look the code up in Slack's documentation"
	}
	return p.message, p.remedy
}

// RefusesToken reports whether a code refuses the token, so that no channel that uses it can post.
func RefusesToken(code string) bool {
	_, refuses := tokenFaults[code]
	return refuses
}

// LacksScope returns the words for a token that lacks a scope, of which Slack says which it needed and which it has; either
// may be "".
func LacksScope(needed, provided string) (message, remedy string) {
	if needed == "" {
		return Explain("missing_scope")
	}
	return fmt.Sprintf("lacks the scope %s; it has %s", needed, cmp.Or(provided, "none")),
		"add the scope under OAuth & Permissions, and install the app to the workspace again"
}

// describe returns what a failed call means, without the URL or a secret.
func describe(err error) (message, remedy string) {
	var refusal slack.SlackErrorResponse
	var limited *slack.RateLimitedError
	var status slack.StatusCodeError
	switch {
	case errors.As(err, &refusal) && refusal.Needed != "":
		return LacksScope(refusal.Needed, refusal.Provided)
	case errors.As(err, &refusal):
		return Explain(refusal.Err)
	case errors.As(err, &limited):
		return Explain("ratelimited")
	case errors.As(err, &status):
		return fmt.Sprintf("could not be checked: the answer was %d", status.Code), "check slack_api_url, and https://slack-status.com"
	default:
		if withURL, ok := errors.AsType[*url.Error](err); ok {
			err = withURL.Err
		}
		return "could not be checked: " + err.Error(), "check the network, the proxy and slack_api_url"
	}
}

// isRefusal reports whether Slack answered with one of these codes.
func isRefusal(err error, codes ...string) bool {
	refusal, ok := errors.AsType[slack.SlackErrorResponse](err)
	return ok && slices.Contains(codes, refusal.Err)
}

// refusesToken reports whether Slack refused the token itself, as opposed to one of its scopes.
func refusesToken(err error) bool {
	refusal, ok := errors.AsType[slack.SlackErrorResponse](err)
	return ok && refusal.Err != "missing_scope" && RefusesToken(refusal.Err)
}
