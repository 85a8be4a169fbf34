package app

import (
	"fmt"
	"time"

	"slackrelay/slackapp"
)

// clocks are how far this machine's clock is ahead of the others; nil = unknown.
type clocks struct{ redis, slack *time.Duration }

// findings compares the clocks. That of this machine with Slack's is compared with the token.
func (c clocks) findings() []slackapp.Finding {
	const subject, remedy = "clock", "synchronise this machine's clock, and that of the Redis server (NTP)"
	differs := func(message string, by time.Duration) []slackapp.Finding {
		return []slackapp.Finding{{
			Subject: subject, Grade: slackapp.Warning, Message: fmt.Sprintf(message, by.Abs().Round(time.Second)), Remedy: remedy,
		}}
	}
	switch {
	case c.redis != nil && c.slack != nil && (*c.slack-*c.redis).Abs() > slackapp.MaxClockSkew:
		return differs("that of Redis differs from Slack's by %s, so that uncertain messages may not be found", *c.slack-*c.redis)
	case c.redis != nil && c.redis.Abs() > slackapp.MaxClockSkew:
		return differs("differs from that of Redis by %s", *c.redis)
	case c.slack != nil && c.slack.Abs() > slackapp.MaxClockSkew:
		return nil // the token's findings say so
	case c.redis != nil && c.slack != nil:
		return []slackapp.Finding{{Subject: subject, Grade: slackapp.OK, Message: "agrees with those of Redis and Slack"}}
	case c.redis != nil:
		return []slackapp.Finding{{Subject: subject, Grade: slackapp.OK, Message: "agrees with that of Redis"}}
	case c.slack != nil:
		return []slackapp.Finding{{Subject: subject, Grade: slackapp.OK, Message: "agrees with Slack's"}}
	default:
		return nil
	}
}
