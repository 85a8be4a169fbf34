package configs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
	"slackrelay/notifier"
)

// workspaces is a configuration with three tokens and two servers.
const workspaces = `
slack_token: xoxb-common
channels:
  - {name: a, slack_channel: C1}
  - {name: b, slack_channel: C2, slack_token: xoxb-b}
  - {name: c, slack_channel: C3, slack_token: xoxb-b, fallback_slack_channel: C4}
  - {name: gov, slack_channel: C5, slack_token: xoxb-gov, slack_api_url: https://slack-gov.com/api/}
  - {name: hook, slack_webhook_url: "https://hooks.slack.com/services/x"}
  - {name: "team-{{team}}", slack_channel: "#{{team}}", slack_token: xoxb-teams, fallback: a}
`

func TestAChannelsTokenTakesPrecedence(t *testing.T) {
	cfg := good(t, workspaces, "RELAY_CHANNEL_A_SLACK_API_URL=http://gateway/api", "RELAY_CHANNEL_HOOK_FALLBACK_SLACK_CHANNEL=C6")
	access := map[string]configs.SlackAccess{}
	for _, name := range []string{"a", "b", "gov", "hook", "team-x"} {
		ch, ok := cfg.Channel(name)
		require.True(t, ok, name)
		access[name] = cfg.SlackAccess(ch)
	}
	app := func(token, url string) configs.SlackApp {
		return configs.SlackApp{Token: configs.Secret(token), APIURL: url}
	}
	require.Equal(t, map[string]configs.SlackAccess{
		"a":      {SlackApp: app("xoxb-common", "http://gateway/api"), Setting: "slack_token of channel a"},
		"b":      {SlackApp: app("xoxb-b", ""), Setting: "slack_token of channel b"},
		"gov":    {SlackApp: app("xoxb-gov", "https://slack-gov.com/api/"), Setting: "slack_token of channel gov"},
		"hook":   {SlackApp: app("xoxb-common", ""), Setting: "slack_token"},
		"team-x": {SlackApp: app("xoxb-teams", ""), Setting: "slack_token of channel team-x"},
	}, access)
	var settings []string
	for _, app := range cfg.SlackAccesses() {
		settings = append(settings, app.Setting)
	}
	require.Equal(t, []string{
		"slack_token", "slack_token of channel a", "slack_token of channel b", "slack_token of channel gov",
		"slack_token of channel team-{{team}}",
	}, settings, "each token once")
	for _, d := range cfg.Destinations() {
		if d.Setting == "fallback of channel c" {
			require.Equal(t, app("xoxb-b", ""), d.Access.SlackApp)
		}
	}
}

func TestAChannelsTokenComesFromFilesAndVariables(t *testing.T) {
	file := write(t, "token", "xoxb-from-a-file\n")
	cfg := good(t, `
channels:
  - {name: a, slack_channel: C1, slack_token_file: `+file+`}
  - {name: b, slack_channel: C2}
  - {name: c, slack_channel: C3}
`, "RELAY_CHANNEL_B_SLACK_TOKEN=xoxb-from-a-variable", "RELAY_CHANNEL_C_SLACK_TOKEN_FILE="+file)
	for i, token := range []configs.Secret{"xoxb-from-a-file", "xoxb-from-a-variable", "xoxb-from-a-file"} {
		require.Equal(t, token, cfg.SlackAccess(cfg.Channels[i]).Token)
	}
	require.Equal(t, []string{file}, cfg.Files(), "it is watched")
	var shown strings.Builder
	require.NoError(t, cfg.WriteYAML(&shown, 2))
	require.NotContains(t, shown.String(), "xoxb")
}

// A token of a channel is enough: the others print their messages on the console.
func TestSendersOfOneTokenShareAnApp(t *testing.T) {
	cfg := good(t, workspaces)
	senders := cfg.Senders(func(string) notifier.Sender { return nil })
	apps := map[string]*notifier.App{}
	for _, name := range []string{"a", "b", "c", "gov", "team-x", "team-y"} {
		ch, _ := cfg.Channel(name)
		bot, ok := senders.Of(ch).(*notifier.Bot)
		require.True(t, ok)
		apps[name] = bot.App
	}
	require.Same(t, apps["b"], apps["c"])
	require.Same(t, apps["team-x"], apps["team-y"])
	distinct := map[string]bool{}
	for _, app := range apps {
		distinct[app.Workspace()] = true
	}
	require.Len(t, distinct, 4)
	c, _ := cfg.Channel("c")
	fallback, ok := senders.Fallback(c).(*notifier.Bot)
	require.True(t, ok)
	require.Same(t, apps["b"], fallback.App)
	hook, _ := cfg.Channel("hook")
	require.IsType(t, &notifier.IncomingWebhook{}, senders.Of(hook))
	require.Nil(t, senders.Fallback(hook))
}

func TestInvalidTokensOfChannelsAreRefused(t *testing.T) {
	bad(t, `
channels:
  - {name: a, slack_token: xoxb-1}
  - {name: b, slack_channel: C1, slack_token: xoxb-1, slack_api_url: "https://user:pw@gateway/api"}
  - {name: c, slack_channel: C1, slack_api_url: gateway}
  - {name: d, slack_channel: C1, slack_token: xoxb-1, slack_token_file: /nowhere}
`, nil,
		"relay.yaml:3: channels[0].slack_channel: is empty, although slack_token is set",
		"relay.yaml:4: channels[1].slack_api_url: contains a user, and the relay prints this setting; remove the user",
		"relay.yaml:5: channels[2].slack_api_url: the value is not a URL",
		"relay.yaml:6: channels[3].slack_token: cannot be combined with channels[3].slack_token_file; keep one")
	loaded, err := load(t, `
channels:
  - {name: a, slack_channel: C1, slack_token: xapp-1}
  - {name: b, slack_token: xoxb-1-2-3, slack_webhook_url: "https://hooks.slack.com/services/x"}
`)
	require.NoError(t, err)
	all := strings.Join(loaded.Warnings, "\n")
	require.Contains(t, all, "relay.yaml:3: channels[0].slack_token: is an app-level token, which cannot post messages")
	require.Contains(t, all, "relay.yaml:4: channels[1].slack_token: is not used, because slack_webhook_url replaces it; remove one of them")
}

func TestSlacksOwnHostsKeepItsLimits(t *testing.T) {
	slack, unlimited := notifier.SlackRates(), notifier.UnlimitedRates()
	for url, want := range map[string]notifier.Rates{
		"": slack, "https://slack.com/api/": slack, "https://www.slack.com/api": slack, "https://SLACK.com./api/": slack,
		"https://slack-gov.com/api/": slack, "https://www.slack-gov.com:443/api/": slack, "https://acme.enterprise.slack.com/api/": slack,
		"http://127.0.0.1:8080/api/": unlimited, "https://slack.com.example/api/": unlimited, "https://notslack.com/api/": unlimited,
		"https://gateway.example/slack.com/": unlimited,
	} {
		cfg := good(t, "channels: [{name: a, slack_channel: C1, slack_token: xoxb-1, slack_api_url: \""+url+"\"}]\n")
		bot, ok := cfg.Senders(nil).Of(cfg.Channels[0]).(*notifier.Bot)
		require.True(t, ok)
		require.Equal(t, want, bot.PerMinute(), url)
	}
	cfg := good(t, "slack_api_url: http://gateway\nslack_edits_per_minute: 7\nslack_token: t\nchannels: [{name: a, slack_channel: C1}]\n")
	bot, ok := cfg.Senders(nil).Of(cfg.Channels[0]).(*notifier.Bot)
	require.True(t, ok)
	require.Equal(t, notifier.Rates{Posts: unlimited.Posts, Edits: 7, Lookups: unlimited.Lookups}, bot.PerMinute())
}

// A token that cannot be one is reported for GovSlack too. Other servers may have tokens of any form.
func TestTokensOfGovSlackAreCheckedByTheirForm(t *testing.T) {
	for url, want := range map[string]int{"https://slack-gov.com/api/": 2, "https://gateway.example/": 0} {
		loaded, err := load(t, "slack_token: x\nslack_api_url: "+url+"\nchannels: [{name: a, slack_channel: C1, slack_token: y}]\n")
		require.NoError(t, err)
		require.Equal(t, want, strings.Count(strings.Join(loaded.Warnings, "\n"), "slack_token: is not a bot token"), url)
	}
}
