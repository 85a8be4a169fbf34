package configs

import "cmp"

// SlackApp is a bot token and the Web API that accepts it. Channels with equal ones are of the same app of Slack.
type SlackApp struct {
	Token  Secret // "" = none is set
	APIURL string // "" = Slack's own
}

// SlackAccess is how a part of the configuration reaches Slack.
type SlackAccess struct {
	SlackApp
	Setting string // where it is set: "slack_token", or "slack_token of channel alerts"
}

// CommonSlackAccess returns the access that is set above the channels. The operations channel and the canary use it, and so do
// channels without one of their own.
func (c *Config) CommonSlackAccess() SlackAccess {
	return SlackAccess{SlackApp{Token: c.SlackToken, APIURL: c.SlackAPIURL}, "slack_token"}
}

// SlackAccess returns the access of a channel. What the channel sets takes precedence over what is set above the channels.
func (c *Config) SlackAccess(ch Channel) SlackAccess {
	access := c.CommonSlackAccess()
	if ch.SlackToken != "" || ch.SlackAPIURL != "" {
		own := SlackApp{Token: cmp.Or(ch.SlackToken, access.Token), APIURL: cmp.Or(ch.SlackAPIURL, access.APIURL)}
		access = SlackAccess{own, "slack_token of channel " + ch.Name}
	}
	return access
}

// SlackAccesses returns one access for each app that the configuration has a token of: first the one that is set above the
// channels, then those of channels, in their order.
func (c *Config) SlackAccesses() []SlackAccess {
	var all []SlackAccess
	known := map[SlackApp]bool{}
	add := func(access SlackAccess) {
		if access.Token != "" && !known[access.SlackApp] {
			known[access.SlackApp] = true
			all = append(all, access)
		}
	}
	add(c.CommonSlackAccess())
	for i := range c.Channels {
		add(c.SlackAccess(c.Channels[i]))
	}
	return all
}
