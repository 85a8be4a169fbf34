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
	if message, remedy = copyFault(token, "a token", makeIt); message != "" {
		return message, remedy
	}
	switch {
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
	if message, remedy = copyFault(secret, "a signing secret", copyIt); message != "" {
		return message, remedy
	}
	decoded, err := hex.DecodeString(secret)
	switch {
	case strings.HasPrefix(secret, "xox") || strings.HasPrefix(secret, "xapp-"):
		return "is a token, not a signing secret", copyIt
	case err != nil || len(decoded) != signingSecretBytes:
		return "is not a signing secret", copyIt
	default:
		return "", ""
	}
}

// copyFault says what went wrong when a secret was copied, whatever its kind is; "" = nothing. replace is the remedy for a
// placeholder.
func copyFault(secret, kind, replace string) (message, remedy string) {
	switch {
	case isPlaceholder(secret):
		return "is a placeholder, not " + kind, replace
	case strings.TrimSpace(secret) != secret:
		return "begins or ends with white space", "remove it"
	default:
		return "", ""
	}
}

// isPlaceholder reports whether a text stands for a secret, as in documentation.
func isPlaceholder(text string) bool {
	lower := strings.ToLower(text)
	return strings.ContainsAny(text, "…<>*") || strings.HasSuffix(text, "...") || strings.HasSuffix(lower, "xxx") ||
		strings.Contains(lower, "-your-")
}

// DescribeSocket says in one sentence why Slack opened no socket, without the URL or a secret. refused means that trying again
// does not help until somebody has changed something.
func DescribeSocket(err error) (sentence string, refused bool) {
	if refusal, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		p, known := appTokenFaults[refusal.Err]
		if !known {
			p, known = tokenFaults[refusal.Err]
		}
		if !known {
			return "Slack answered " + refusal.Err, false
		}
		return "slack_app_token " + p.message + "; " + p.remedy, refusal.Err != tooManySockets
	}
	status, ok := errors.AsType[slack.StatusCodeError](err)
	switch {
	case ok && status.Code == http.StatusNotFound:
		return "the answer was 404; check slack_api_url", true
	case ok:
		return fmt.Sprintf("the answer was %d; check https://slack-status.com", status.Code), false
	default:
		message, remedy := describe(err)
		return message + "; " + remedy, false
	}
}

// tooManySockets is Slack's answer while 10 sockets of the app are open.
const tooManySockets = "too_many_websockets"
