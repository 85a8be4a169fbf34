package configs

// Follow compares a configuration that was read again with the one in effect. faults are changes that nobody would notice
// and that are therefore refused: a channel stops posting to Slack, or accepts webhooks from anyone. warnings are such
// changes that are noticed, or declared as intended. A restart applies both.
func (c *Config) Follow(before Config) (faults []*FieldError, warnings []string) {
	v := newValidator()
	earlier := before.indexes()
	for i, ch := range c.Channels {
		was, known := earlier[ch.Name]
		if !known {
			continue
		}
		if before.posts(before.Channels[was]) && !c.posts(ch) {
			v.fault(indexed("channels", i), "channel %s would no longer post to Slack, because slack_token, slack_channel or slack_webhook_url "+
				"was removed; set it again, or restart the relay to apply this change", ch.Name)
		}
		if before.Channels[was].isOpen() || !ch.isOpen() {
			continue
		}
		if !c.AllowUnauthenticated {
			v.fault(indexed("channels", i), "channel %s would accept webhooks from anyone, because ingress_token or auth was removed; "+
				"set it again, restart the relay to apply this change, or set allow_unauthenticated", ch.Name)
			continue
		}
		warnings = append(warnings, "channel "+ch.Name+" now accepts webhooks from anyone: ingress_token or auth was removed")
	}
	if before.AdminToken != "" && c.AdminToken == "" {
		warnings = append(warnings, "admin_token was removed: calls that change something are now refused")
	}
	return *v.faults, warnings
}
