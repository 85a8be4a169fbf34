package slackapp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/slack-go/slack"
)

const (
	appName        = "relay"
	appDescription = "Posts the alerts that matter, and says what it held back"
	createApp      = "https://api.slack.com/apps?new_app=1&manifest_json="
)

// Command is the slash command of the app.
const Command = "/relay"

// Manifest returns the manifest of the relay's app, as JSON. Clicks and commands arrive by Socket Mode, or at the webhook listener
// of the relay with the base URL requestURL, as https://relay.example.com; "" = Socket Mode.
//
// The manifest describes an internal app, for one workspace: Slack limits how often an app that is distributed to others may read
// history, and the relay could no longer look up uncertain messages.
func Manifest(requestURL string) ([]byte, error) {
	if err := checkRequestURL(requestURL); err != nil {
		return nil, err
	}
	command := slack.ManifestSlashCommand{
		Command: Command, Description: "Show and silence what the relay holds back", UsageHint: "status | why | silence | drops",
	}
	manifest := slack.Manifest{
		Metadata: slack.ManifestMetadata{MajorVersion: 2, MinorVersion: 1},
		Display:  slack.Display{Name: appName, Description: appDescription},
		Settings: slack.Settings{Interactivity: &slack.Interactivity{IsEnabled: true}, SocketModeEnabled: requestURL == ""},
		Features: slack.Features{BotUser: slack.BotUser{DisplayName: appName, AlwaysOnline: true}},
	}
	if requestURL != "" {
		base := strings.TrimSuffix(requestURL, "/")
		manifest.Settings.Interactivity.RequestUrl = base + "/slack/interactions"
		command.Url = base + "/slack/commands"
	}
	manifest.Features.SlashCommands = []slack.ManifestSlashCommand{command}
	for _, scope := range scopes {
		manifest.OAuthConfig.Scopes.Bot = append(manifest.OAuthConfig.Scopes.Bot, scope.Name)
	}
	encoded, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return encoded, nil
}

// checkRequestURL returns why Slack could not post to a base URL; "" is none, and has no fault.
func checkRequestURL(requestURL string) error {
	if requestURL == "" {
		return nil
	}
	u, err := url.Parse(requestURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("request URL %q is not one that Slack can post to; use the HTTPS address of the webhook listener, "+
			"for example https://relay.example.com", requestURL)
	}
	return nil
}

// CreateURL returns the page of Slack that creates the app from the manifest.
func CreateURL(requestURL string) (string, error) {
	manifest, err := Manifest(requestURL)
	if err != nil {
		return "", err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, manifest); err != nil {
		return "", fmt.Errorf("encode the manifest: %w", err)
	}
	return createApp + strings.ReplaceAll(url.QueryEscape(compact.String()), "+", "%20"), nil
}
