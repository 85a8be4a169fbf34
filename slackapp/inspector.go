package slackapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// InspectorOptions configure an [Inspector]. Token is required:
//
//	slackapp.NewInspector(slackapp.InspectorOptions{Token: "xoxb-..."})
type InspectorOptions struct {
	Token   string           // the bot token
	Setting string           // where the token is set, for findings about it. Default "slack_token"
	APIURL  string           // base URL of the Web API. Default Slack's own
	Timeout time.Duration    // of one request. Default 5 s
	Now     func() time.Time // the clock that is compared with Slack's. Default time.Now
}

// Inspector asks Slack what a bot token can do. It posts nothing and changes nothing. It is not safe for concurrent use.
type Inspector struct {
	opts    InspectorOptions
	client  *slack.Client
	bot     string                    // the bot's user name
	granted map[string]bool           // nil = Slack did not say
	byName  map[string]*slack.Channel // nil = not listed yet
}

// NewInspector returns an Inspector.
func NewInspector(opts InspectorOptions) *Inspector {
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Inspector{opts: opts, bot: appName, client: NewClient(opts.Token, opts.APIURL, &http.Client{
		Timeout:       opts.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})}
}

// maxClockSkew is how far the clocks may be apart: Slack signs with a time, and refuses or is refused beyond 5 minutes.
const maxClockSkew = time.Minute

// Token checks the token: whether Slack accepts it, for which workspace, and which scopes it has. The checks of channels need
// its result, so that it comes first.
func (i *Inspector) Token(ctx context.Context) []Finding {
	r := &report{subject: cmp.Or(i.opts.Setting, "slack_token")}
	if message, remedy := TokenFault(i.opts.Token); message != "" && i.opts.APIURL == "" {
		r.add(Fault, message, remedy)
		return r.findings
	}
	answer, err := i.client.AuthTestContext(ctx)
	if err != nil {
		message, remedy := describe(err)
		r.add(Fault, message, remedy)
		return r.findings
	}
	i.bot = cmp.Or(answer.User, i.bot)
	r.add(OK, fmt.Sprintf("valid, for the bot %s in the workspace %s", answer.User, answer.Team), "")
	i.readScopes(answer.Header, r)
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := i.opts.Now().Sub(date).Round(time.Second); skew.Abs() > maxClockSkew {
			r.findings = append(r.findings, Finding{
				Subject: "clock", Grade: Warning,
				Message: fmt.Sprintf("differs from Slack's by %s", skew.Abs()),
				Remedy:  "synchronise this machine's clock (NTP)",
			})
		}
	}
	return r.findings
}

// readScopes notes the granted scopes, and reports those that are missing.
func (i *Inspector) readScopes(header http.Header, r *report) {
	listed := header.Get("X-OAuth-Scopes")
	if listed == "" {
		return // a gateway may not pass it on
	}
	i.granted = map[string]bool{}
	for scope := range strings.SplitSeq(listed, ",") {
		i.granted[strings.TrimSpace(scope)] = true
	}
	for _, scope := range scopes {
		if i.granted[scope.Name] {
			continue
		}
		grade := Warning
		if scope.Needed {
			grade = Fault
		}
		r.add(grade, fmt.Sprintf("lacks the scope %s: the relay cannot %s", scope.Name, scope.Use),
			addScope)
	}
}

// has reports whether the token has a scope, as far as Slack said.
func (i *Inspector) has(scope string) bool { return i.granted == nil || i.granted[scope] }

// words are Slack's errors in words. Whatever is not here is shown as Slack's code.
var words = map[string]struct{ message, remedy string }{
	"invalid_auth":     {"is not known to Slack", "copy the Bot User OAuth Token again, completely"},
	"not_authed":       {"was not sent", "set slack_token"},
	"account_inactive": {"belongs to an app that was removed from the workspace", "install the app again, and use its new token"},
	"token_revoked":    {"was revoked", "install the app again, and use its new token"},
	"token_expired": {
		"has expired, because token rotation is on", "turn token rotation off: create the app from relay slack manifest",
	},
	"not_allowed_token_type": {"has the wrong kind", "use the Bot User OAuth Token, which begins with xoxb-"},
	"org_login_required":     {"cannot be used while the workspace moves to an organisation", "try again later"},
	"team_access_not_granted": {
		"is of the organisation, which has not given the app access to the workspace", "ask an administrator to add the app to the workspace",
	},
	"ratelimited": {"could not be checked: Slack limits the rate", "try again in a minute"},
}

// describe says what a failed call means, without the URL or a secret.
func describe(err error) (message, remedy string) {
	var refusal slack.SlackErrorResponse
	var limited *slack.RateLimitedError
	var status slack.StatusCodeError
	switch {
	case errors.As(err, &refusal):
		if w, known := words[refusal.Err]; known {
			return w.message, w.remedy
		}
		if refusal.Needed != "" {
			return fmt.Sprintf("lacks the scope %s; it has %s", refusal.Needed, refusal.Provided),
				"add the scope under OAuth & Permissions, and install the app to the workspace again"
		}
		return "was refused by Slack: " + refusal.Err, "look the code up in Slack's documentation"
	case errors.As(err, &limited):
		return words["ratelimited"].message, words["ratelimited"].remedy
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
