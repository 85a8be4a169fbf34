package slackapp

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/slack-go/slack"
)

// AppTokenFault says what is wrong with an app-level token by its form alone, and what to do about it; "" = nothing.
func AppTokenFault(token string) (message, remedy string) {
	const makeIt = "generate an app-level token with the scope connections:write on the app's page Basic Information; it begins with xapp-"
	switch {
	case isPlaceholder(token):
		return "is a placeholder, not a token", makeIt
	case strings.TrimSpace(token) != token:
		return "begins or ends with white space", "remove it"
	case strings.HasPrefix(token, "xoxb-"):
		return "is a bot token, which cannot open sockets", makeIt
	case !strings.HasPrefix(token, "xapp-"):
		return "is not an app-level token", makeIt
	default:
		return "", ""
	}
}

// signingSecretBytes is how many bytes a signing secret has, in hexadecimal digits.
const signingSecretBytes = 16

// SigningSecretFault says what is wrong with a signing secret by its form alone, and what to do about it; "" = nothing.
func SigningSecretFault(secret string) (message, remedy string) {
	const copyIt = "copy the Signing Secret of the app's page Basic Information; it has 32 hexadecimal digits"
	decoded, err := hex.DecodeString(secret)
	switch {
	case isPlaceholder(secret):
		return "is a placeholder, not a signing secret", copyIt
	case strings.TrimSpace(secret) != secret:
		return "begins or ends with white space", "remove it"
	case strings.HasPrefix(secret, "xox") || strings.HasPrefix(secret, "xapp-"):
		return "is a token, not a signing secret", copyIt
	case err != nil || len(decoded) != signingSecretBytes:
		return "is not a signing secret", copyIt
	default:
		return "", ""
	}
}

// isPlaceholder reports whether a text stands for a secret, as in documentation.
func isPlaceholder(text string) bool {
	return strings.ContainsAny(text, "…<>*") || strings.HasSuffix(text, "...")
}

// socketWords are the errors with which Slack refuses to open a socket until a person has changed something.
var socketWords = map[string]string{
	"invalid_auth":           "slack_app_token is not known to Slack; copy it again, completely",
	"not_authed":             "slack_app_token was not sent; set it",
	"token_revoked":          "slack_app_token was revoked; generate a new one on the app's page Basic Information",
	"token_expired":          "slack_app_token has expired; generate a new one on the app's page Basic Information",
	"account_inactive":       "the app was removed from the workspace; install it again",
	"not_allowed_token_type": "slack_app_token has the wrong kind; use the app-level token, which begins with xapp-",
	"missing_scope":          "slack_app_token lacks the scope connections:write; generate one that has it",
	"no_permission":          "slack_app_token lacks the scope connections:write; generate one that has it",
	"access_denied":          "Slack denies the app sockets; turn Socket Mode on, on the app's page Socket Mode",
	"forbidden_team":         "the workspace forbids the app sockets; ask its administrator",
	"team_access_not_granted": "the organisation has not given the app access to the workspace; " +
		"ask an administrator to add the app to the workspace",
}

// DescribeSocket says in one sentence why Slack opened no socket, without the URL or a secret. refused means that trying again
// does not help.
func DescribeSocket(err error) (sentence string, refused bool) {
	var refusal slack.SlackErrorResponse
	var status slack.StatusCodeError
	switch {
	case errors.As(err, &refusal):
		if words, known := socketWords[refusal.Err]; known {
			return words, true
		}
		return "Slack answered " + refusal.Err, false
	case errors.As(err, &status) && status.Code == http.StatusNotFound:
		return "the answer was 404; check slack_api_url", true
	case errors.As(err, &status):
		return fmt.Sprintf("the answer was %d", status.Code), false
	default:
		message, _ := describe(err)
		return message, false
	}
}
