package notifier

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/slackapp"
)

// AppOptions configure an [App]. Token is required.
//
//	app := notifier.NewApp(notifier.AppOptions{Token: "xoxb-..."})
//	bot := app.Bot("C0123")
type AppOptions struct {
	Token     string        // a bot token with the scope chat:write; relay slack manifest lists the others
	APIURL    string        // base URL of the Web API. Default Slack's own.
	Timeout   time.Duration // of one request. Default [DefaultTimeout].
	PerMinute Rates         // of the token. Default [SlackRates].
}

// App is an app of Slack in one workspace: what all [Bot]s with its token share.
type App struct {
	client    *slack.Client
	workspace string
	perMinute Rates
}

// NewApp makes an App. The retries of slack-go stay off: they would block the channel's sender and hide a 429 from the other
// replicas.
func NewApp(opts AppOptions) *App {
	if opts.PerMinute == (Rates{}) {
		opts.PerMinute = SlackRates()
	}
	sum := sha256.Sum256([]byte(opts.Token))
	return &App{
		client:    slackapp.NewClient(opts.Token, opts.APIURL, httpClient(opts.Timeout)),
		workspace: hex.EncodeToString(sum[:8]), perMinute: opts.PerMinute,
	}
}

// Bot returns the app's sender for a channel: its id, or the name of a public channel.
func (a *App) Bot(channel string) *Bot {
	b := &Bot{App: a, channel: channel}
	b.id.Store("")
	if slackapp.IsChannelID(channel) {
		b.id.Store(channel)
	}
	return b
}

// Workspace implements [Workspace].
func (a *App) Workspace() string { return a.workspace }

// PerMinute implements [Workspace].
func (a *App) PerMinute() Rates { return a.perMinute }

// Rates are the calls that a token may make in a minute, over all channels and replicas.
type Rates struct{ Posts, Edits, Lookups int64 }

// SlackRates returns what Slack allows a token (https://docs.slack.dev/apis/web-api/rate-limits): "several hundred" posts, and
// tier 3 for edits and for reading.
func SlackRates() Rates { return Rates{Posts: 300, Edits: 50, Lookups: 50} }

// UnlimitedRates returns rates that nothing reaches, for another server than Slack's, which answers 429 by itself.
func UnlimitedRates() Rates { return Rates{Posts: 1_000_000, Edits: 1_000_000, Lookups: 1_000_000} }
