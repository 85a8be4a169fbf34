package configs

import (
	"slices"

	"slackrelay/interaction"
	"slackrelay/slackapp"
)

// Apps returns the apps of Slack that the relay receives clicks and commands for: each distinct one once, that of the top level
// first.
func (c *Config) Apps() []interaction.App {
	var apps []interaction.App
	add := func(app interaction.App) {
		if !app.Receives() {
			return
		}
		i := slices.IndexFunc(apps, app.Same)
		if i < 0 {
			apps = append(apps, app)
			return
		}
		if !slices.Contains(apps[i].BotTokens, app.BotTokens[0]) {
			apps[i].BotTokens = append(apps[i].BotTokens, app.BotTokens[0])
		}
	}
	add(c.ownApp())
	for i := range c.Channels {
		if ch := c.Channels[i]; ch.SlackWebhookURL == "" {
			add(c.appOf(ch))
		}
	}
	return apps
}

// ownApp returns the app of the top level.
func (c *Config) ownApp() interaction.App {
	return appWith(c.CommonSlackAccess(), c.SlackAppToken, c.SlackSigningSecret)
}

// appOf returns the app that posts the messages of a channel with the bot token. A channel with a token of its own is not of the
// app of the top level, so that the other secrets of that app are not its own.
func (c *Config) appOf(ch Channel) interaction.App {
	if ch.SlackToken == "" {
		return appWith(c.SlackAccess(ch), c.SlackAppToken, c.SlackSigningSecret)
	}
	return appWith(c.SlackAccess(ch), ch.SlackAppToken, ch.SlackSigningSecret)
}

func appWith(access SlackAccess, appToken, signingSecret Secret) interaction.App {
	return interaction.App{
		Name: access.Setting, BotTokens: []string{string(access.Token)}, APIURL: access.APIURL,
		AppToken: string(appToken), SigningSecret: string(signingSecret),
	}
}

// ReceivesClicks reports whether people can click on the messages of a channel: it posts with a bot token, and its app has a
// socket or a signing secret.
func (c *Config) ReceivesClicks(ch Channel) bool {
	return c.posts(ch) && ch.SlackWebhookURL == "" && c.appOf(ch).Receives()
}

// validateInteractions finds app-level tokens and signing secrets that cannot be right.
func (c *Config) validateInteractions(v validator) {
	v.appSecrets(c.SlackAppToken, c.SlackSigningSecret)
	if c.SlackToken == "" {
		v.needToken(c.SlackAppToken, c.SlackSigningSecret, "slack_token, the bot token of the same app")
	}
	apps := []interaction.App{c.ownApp()}
	for i := range c.Channels {
		ch, in := c.Channels[i], v.in(indexed("channels", i))
		in.appSecrets(ch.SlackAppToken, ch.SlackSigningSecret)
		if ch.SlackToken == "" {
			in.needToken(ch.SlackAppToken, ch.SlackSigningSecret, "slack_token of the channel too, or this setting above the channels")
		}
		app := c.appOf(ch)
		if other := slices.IndexFunc(apps, app.Contradicts); other >= 0 {
			in.fault("slack_signing_secret", "differs from that of %s, which has the same slack_app_token; an app has one signing secret, "+
				"set the right one at both", apps[other].Name)
		}
		apps = append(apps, app)
	}
}

// appSecrets finds what is wrong with the form of an app-level token and a signing secret.
func (v validator) appSecrets(appToken, signingSecret Secret) {
	if message, remedy := slackapp.AppTokenFault(string(appToken)); appToken != "" && message != "" {
		v.fault("slack_app_token", "%s; %s", message, remedy)
	}
	if message, remedy := slackapp.SigningSecretFault(string(signingSecret)); signingSecret != "" && message != "" {
		v.fault("slack_signing_secret", "%s; %s", message, remedy)
	}
}

// needToken finds an app-level token or a signing secret of an app without a bot token.
func (v validator) needToken(appToken, signingSecret Secret, missing string) {
	if appToken != "" {
		v.fault("slack_app_token", "is set without the bot token of its app; set %s", missing)
	}
	if signingSecret != "" {
		v.fault("slack_signing_secret", "is set without the bot token of its app; set %s", missing)
	}
}
