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

// Manifest returns the manifest of the relay's app, as JSON. It describes an internal app, for one workspace: Slack limits how
// often an app that is distributed to others may read history, and the relay could no longer look up uncertain messages.
func Manifest() ([]byte, error) {
	manifest := slack.Manifest{
		Metadata: slack.ManifestMetadata{MajorVersion: 2, MinorVersion: 1},
		Display:  slack.Display{Name: appName, Description: appDescription},
		Features: slack.Features{BotUser: slack.BotUser{DisplayName: appName, AlwaysOnline: true}},
	}
	for _, scope := range scopes {
		manifest.OAuthConfig.Scopes.Bot = append(manifest.OAuthConfig.Scopes.Bot, scope.Name)
	}
	encoded, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return encoded, nil
}

// CreateURL returns the page of Slack that creates the app from the manifest.
func CreateURL() (string, error) {
	manifest, err := Manifest()
	if err != nil {
		return "", err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, manifest); err != nil {
		return "", fmt.Errorf("encode the manifest: %w", err)
	}
	return createApp + strings.ReplaceAll(url.QueryEscape(compact.String()), "+", "%20"), nil
}
