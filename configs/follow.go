package configs

import (
	"fmt"
	"slices"
)

// Follow compares a configuration that was read again with the one in effect. The faults are what it would take away and
// nobody would notice: where a channel's messages go, and who may send to it. The warnings are what it takes away and is
// noticed, or was said to be meant. A restart takes either.
func (c *Config) Follow(before Config) (faults []error, warnings []string) {
	const meant = "set it again, or restart the relay to apply this change"
	for i, ch := range c.Channels {
		was := slices.IndexFunc(before.Channels, func(other Channel) bool { return other.Name == ch.Name })
		if was < 0 {
			continue
		}
		where := fmt.Sprintf("channels[%d] (%s)", i, ch.Name)
		if before.posts(before.Channels[was]) && !c.posts(ch) {
			faults = append(faults, faultf(where, "would no longer post to Slack: slack_token, slack_channel or slack_webhook_url was removed; %s", meant))
		}
		if before.Channels[was].isOpen() || !ch.isOpen() {
			continue
		}
		if !c.AllowUnauthenticated {
			faults = append(faults, faultf(where, "would accept webhooks from anyone: ingress_token or auth was removed; %s, or set allow_unauthenticated", meant))
			continue
		}
		warnings = append(warnings, where+" now accepts webhooks from anyone: ingress_token or auth was removed")
	}
	if before.AdminToken != "" && c.AdminToken == "" {
		warnings = append(warnings, "admin_token was removed: calls that change something are now refused")
	}
	return faults, warnings
}

// posts tells whether a channel's messages go to Slack, not only to the console.
func (c *Config) posts(ch Channel) bool {
	return ch.SlackWebhookURL != "" || c.SlackToken != "" && ch.SlackChannel != ""
}
