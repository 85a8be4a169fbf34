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
		if ch := &c.Channels[i]; ch.SlackWebhookURL == "" {
			add(c.appOf(ch))
		}
	}
	return apps
}

// ownApp returns the app of the top level.
func (c *Config) ownApp() interaction.App {
	return interaction.App{
		Name: "slack_token", BotTokens: []string{string(c.SlackToken)}, APIURL: c.SlackAPIURL,
		AppToken: string(c.SlackAppToken), SigningSecret: string(c.SlackSigningSecret),
	}
}

// appOf returns the app that posts the messages of a channel with the bot token.
func (c *Config) appOf(ch *Channel) interaction.App {
	app := c.ownApp()
	if ch.SlackAppToken != "" || ch.SlackSigningSecret != "" {
		app.Name = "channel " + ch.Name
		app.AppToken, app.SigningSecret = string(ch.SlackAppToken), string(ch.SlackSigningSecret)
	}
	return app
}

// ReceivesClicks reports whether people can click on the messages of a channel: it posts with a bot token, and its app has a
// socket or a signing secret.
func (c *Config) ReceivesClicks(ch Channel) bool {
	return c.posts(ch) && ch.SlackWebhookURL == "" && c.appOf(&ch).Receives()
}

// validateInteractions finds app-level tokens and signing secrets that cannot be right.
func (c *Config) validateInteractions(v validator) {
	v.appSecrets(c.SlackAppToken, c.SlackSigningSecret)
	if c.SlackToken == "" {
		v.needToken(c.SlackAppToken, c.SlackSigningSecret, "slack_token, the bot token of the same app")
	}
	apps := []interaction.App{c.ownApp()}
	for i := range c.Channels {
		ch, in := &c.Channels[i], v.in(indexed("channels", i))
		in.appSecrets(ch.SlackAppToken, ch.SlackSigningSecret)
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
		v.fault("slack_app_token", "is set without a bot token, so that there is no message to click on; set %s", missing)
	}
	if signingSecret != "" {
		v.fault("slack_signing_secret", "is set without a bot token, so that there is no message to click on; set %s", missing)
	}
}
