package configs

import (
	"sync"

	"slackrelay/notifier"
)

// Senders makes the destinations of a configuration. Those of one app of Slack share a client, and with it the token's limits.
// A nil *Senders makes none. It is safe for concurrent use.
type Senders struct {
	cfg     *Config
	preview func(channel string) notifier.Sender

	mu   sync.Mutex
	apps map[SlackApp]*notifier.App
}

// Senders returns the Senders of a configuration, which must not change afterwards. preview returns the destination of a channel
// without a place in Slack.
func (c *Config) Senders(preview func(channel string) notifier.Sender) *Senders {
	return &Senders{cfg: c, preview: preview, apps: map[SlackApp]*notifier.App{}}
}

// Of returns the destination of a channel's messages.
func (s *Senders) Of(ch Channel) notifier.Sender {
	if s == nil {
		return nil
	}
	if !s.cfg.posts(ch) {
		return s.preview(ch.Name)
	}
	return s.destination(s.cfg.SlackAccess(ch).SlackApp, ch.SlackWebhookURL, ch.SlackChannel)
}

// Fallback returns the destination of messages that the channel's own one rejects permanently; nil = there is none.
func (s *Senders) Fallback(ch Channel) notifier.Sender {
	if s == nil {
		return nil
	}
	return s.destination(s.cfg.SlackAccess(ch).SlackApp, ch.FallbackWebhookURL, ch.FallbackSlackChannel)
}

// Operations returns the destination of alerts to the operators of the relay; nil = they get none.
func (s *Senders) Operations() notifier.Sender {
	if s.cfg.OperationsWebhookURL != "" && !notifier.IsChatServer(string(s.cfg.OperationsWebhookURL)) {
		return notifier.NewJSONSink(string(s.cfg.OperationsWebhookURL), s.cfg.SlackTimeout)
	}
	return s.destination(s.cfg.CommonSlackAccess().SlackApp, s.cfg.OperationsWebhookURL, s.cfg.OperationsSlackChannel)
}

// Canary returns the destination of canaries; nil = there are none.
func (s *Senders) Canary() notifier.Sender {
	if s.cfg.CanaryInterval == 0 {
		return nil
	}
	return s.destination(s.cfg.CommonSlackAccess().SlackApp, s.cfg.CanaryWebhookURL, s.cfg.CanarySlackChannel)
}

// destination returns an incoming webhook, or a channel of an app of Slack; nil = neither is set.
func (s *Senders) destination(app SlackApp, webhook Secret, channel string) notifier.Sender {
	switch {
	case webhook != "":
		return notifier.NewIncomingWebhook(string(webhook), s.cfg.SlackTimeout)
	case channel != "":
		return s.app(app).Bot(channel)
	default:
		return nil
	}
}

// app returns the client of an app.
func (s *Senders) app(app SlackApp) *notifier.App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return known(s.apps, app, func() *notifier.App {
		return notifier.NewApp(notifier.AppOptions{
			Token: string(app.Token), APIURL: app.APIURL, Timeout: s.cfg.SlackTimeout, PerMinute: s.cfg.perMinute(app),
		})
	})
}
