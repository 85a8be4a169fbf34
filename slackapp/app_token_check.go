package slackapp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/slack-go/slack"
)

const (
	copyItAgain = "copy the app-level token of the app's page Basic Information; it begins with xapp-"
	addAppScope = "make an app-level token with connections:write on the app's page Basic Information"
)

// appTokenFaults are the answers to opening a socket that have other words than for a bot token.
var appTokenFaults = map[string]phrase{
	"invalid_auth":           {"is not known to Slack", copyItAgain},
	"token_revoked":          {"was revoked", addAppScope},
	"not_allowed_token_type": {"has the wrong kind", copyItAgain},
	"missing_scope":          {"lacks the scope connections:write", addAppScope},
	"forbidden_team":         {"may not open a socket for the workspace", "ask an administrator of the workspace to allow the app"},
	"socket_mode_not_enabled": {
		"cannot open a socket, because Socket Mode is off",
		"turn it on, on the app's page Socket Mode, or create the app from relay slack manifest",
	},
	tooManySockets: {"has 10 open sockets already, the most that Slack allows", "end the other programs that use the token"},
}

// AppToken checks an app-level token: whether Slack would let it open a socket. It opens none. The options Join and Brief have
// no meaning here.
func AppToken(ctx context.Context, opts InspectorOptions) []Finding {
	r := &report{subject: cmp.Or(opts.Setting, "slack_app_token")}
	if message, remedy := AppTokenFault(opts.Token); message != "" {
		r.add(Fault, message, remedy)
		return r.findings
	}
	options := append(clientOptions(opts.APIURL, httpClient(cmp.Or(opts.Timeout, 5*time.Second))), slack.OptionAppLevelToken(opts.Token))
	_, _, err := slack.New("", options...).StartSocketModeContext(ctx)
	refusal, _ := errors.AsType[slack.SlackErrorResponse](err)
	if p, known := appTokenFaults[refusal.Err]; known {
		r.add(Fault, p.message, p.remedy)
		return r.findings
	}
	if err != nil {
		message, remedy := describe(err)
		r.add(Fault, message, remedy)
		return r.findings
	}
	r.add(OK, "valid, and can open a socket", "")
	return r.findings
}
