package configs

import (
	"slices"

	"slackrelay/notifier"
)

// freeChatServers takes the default pace, which is Slack's limit, from channels that post to Mattermost or Rocket.Chat: these say by
// themselves when a message comes too early. A pace that is set stays.
func (l *Loaded) freeChatServers() {
	for i := range l.Config.Channels {
		ch := &l.Config.Channels[i]
		if notifier.IsChatServer(string(ch.SlackWebhookURL)) && !l.origin.sets(indexed("channels", i)+".pace") {
			ch.Pace = 0
		}
	}
}

// chatServerWarnings finds settings that only Slack understands.
func (c Channel) chatServerWarnings(v validator) {
	if !notifier.IsChatServer(string(c.SlackWebhookURL)) {
		return
	}
	for i, m := range c.Mentions {
		if !slices.Contains([]string{"here", "channel", "everyone"}, m.Who) {
			v.fault(indexed("mentions", i)+".who", "%q is an id of Slack, which mentions nobody on another server; use here, channel or everyone",
				m.Who)
		}
	}
}
