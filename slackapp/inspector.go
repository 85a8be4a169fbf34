package slackapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	// Pace is called before each call of a method whose rate Slack limits to [CallsPerMinute]; an error ends the check.
	// Default: calls wait only as Slack's answers demand.
	Pace func(ctx context.Context, method string) error
	// Join makes the bot join the public channels that are checked, where it may. Default: nothing is changed.
	Join bool
	// Acting expects the scopes for buttons and commands too. Default: they are not missed.
	Acting bool
	// Brief leaves out what keeps no message from being posted, such as whether history can be read. Default: it is checked.
	Brief bool
}

// The methods that an [Inspector] calls for channels.
const (
	methodInfo    = "conversations.info"
	methodList    = "conversations.list"
	methodJoin    = "conversations.join"
	methodHistory = "conversations.history"
)

// CallsPerMinute is how often Slack lets an app call a method that an [Inspector] calls for channels.
func CallsPerMinute(method string) int64 {
	const tier2, tier3 = 20, 50
	if method == methodList {
		return tier2
	}
	return tier3
}

// Inspector asks Slack what a bot token can do. It posts nothing, and changes nothing unless it joins channels. It is not safe
// for concurrent use.
type Inspector struct {
	opts    InspectorOptions
	client  *slack.Client
	bot     string          // the bot's user name
	orgWide bool            // the token is one of a whole organisation
	url     string          // of the workspace
	granted map[string]bool // nil = Slack did not say
	refused *Finding        // why Slack refuses the token; nil = it does not
	skew    *time.Duration  // by how much this machine's clock is ahead of Slack's; nil = unknown
	listed  *listing        // nil = the channels are not listed yet

	answered  bool            // Slack answered about the token
	joins     int             // how many channels the bot tried to join
	postponed map[string]bool // the ids of channels that it can join, and did not try to
	members   map[string]bool // the ids of channels that the bot is a member of
}

// NewInspector returns an Inspector.
func NewInspector(opts InspectorOptions) *Inspector {
	opts.Setting = cmp.Or(opts.Setting, "slack_token")
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Inspector{opts: opts, bot: appName, client: NewClient(opts.Token, opts.APIURL, httpClient(opts.Timeout))}
}

// httpClient returns a client that follows no redirects, because a redirect would take the token elsewhere.
func httpClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// MaxClockSkew is how far clocks may be apart before a check reports it: Slack signs with a time, and refuses or is refused
// beyond 5 minutes.
const MaxClockSkew = time.Minute

// Token checks the token: whether Slack accepts it, for which workspace, and which scopes it has. The checks of channels need
// its result, so that it comes first.
func (i *Inspector) Token(ctx context.Context) []Finding {
	r := &report{subject: i.opts.Setting}
	if message, remedy := TokenFault(i.opts.Token); message != "" && IsSlackAPI(i.opts.APIURL) {
		r.add(Fault, message, remedy)
		i.refused = &r.findings[0]
		return r.findings
	}
	answer, err := i.client.AuthTestContext(ctx)
	_, refused := errors.AsType[slack.SlackErrorResponse](err)
	i.answered = err == nil || refused
	if err != nil {
		message, remedy := describe(err)
		r.add(Fault, message, remedy)
		i.noteRefusal(err)
		return r.findings
	}
	i.bot, i.url = cmp.Or(answer.User, i.bot), answer.URL
	where := "the workspace " + answer.Team
	if i.orgWide = answer.EnterpriseID != "" && answer.TeamID == answer.EnterpriseID; i.orgWide {
		where = "the organisation " + answer.Team
	}
	r.add(OK, fmt.Sprintf("valid, for the bot %s in %s", answer.User, where), "")
	i.readScopes(answer.Header, r)
	i.readClock(answer.Header, r)
	return r.findings
}

// Refused returns why Slack refuses the token, as far as the checks until now have shown.
func (i *Inspector) Refused() (Finding, bool) {
	if i.refused == nil {
		return Finding{}, false
	}
	return *i.refused, true
}

// URL returns the address of the workspace; "" = it is not known.
func (i *Inspector) URL() string { return i.url }

// Answered reports whether Slack answered about the token, as opposed to a fault of Slack or the network.
func (i *Inspector) Answered() bool { return i.answered }

// noteRefusal notes whether an answer refuses the token.
func (i *Inspector) noteRefusal(err error) {
	if i.refused == nil && refusesToken(err) {
		message, remedy := describe(err)
		i.refused = &Finding{Subject: i.opts.Setting, Grade: Fault, Message: message, Remedy: remedy}
	}
}

// Skew returns by how much this machine's clock is ahead of Slack's; known is false if Slack did not say.
func (i *Inspector) Skew() (skew time.Duration, known bool) {
	if i.skew == nil {
		return 0, false
	}
	return *i.skew, true
}

// readClock compares the clocks, and reports a difference.
func (i *Inspector) readClock(header http.Header, r *report) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return
	}
	skew := i.opts.Now().Sub(date).Round(time.Second)
	i.skew = &skew
	if skew.Abs() > MaxClockSkew {
		r.findings = append(r.findings, Finding{
			Subject: "clock", Grade: Warning,
			Message: fmt.Sprintf("differs from Slack's by %s", skew.Abs()),
			Remedy:  "synchronise this machine's clock (NTP)",
		})
	}
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
		if i.granted[scope.Name] || scope.Acting && !i.opts.Acting {
			continue
		}
		grade := Warning
		if scope.Needed {
			grade = Fault
		}
		r.add(grade, fmt.Sprintf("lacks the scope %s: the relay cannot %s", scope.Name, scope.Use), addScope)
		if scope.Needed && i.refused == nil {
			refused := r.findings[len(r.findings)-1]
			i.refused = &refused
		}
	}
}

// has reports whether the token has a scope, as far as Slack said.
func (i *Inspector) has(scope string) bool { return i.granted == nil || i.granted[scope] }

// maxPatience is how long a check waits for Slack's rate limit.
const maxPatience = time.Minute

// call calls a method of Slack, and calls again after the time that a rate limit asks for.
func (i *Inspector) call(ctx context.Context, method string, call func() error) error {
	for {
		if i.opts.Pace != nil {
			if err := i.opts.Pace(ctx, method); err != nil {
				return err
			}
		}
		err := call()
		i.noteRefusal(err)
		limited, ok := errors.AsType[*slack.RateLimitedError](err)
		if !ok || limited.RetryAfter > maxPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(limited.RetryAfter, time.Second)):
		}
	}
}
