package notifier

import (
	"maps"
	"slices"
	"time"
)

// Codes are the error codes of Slack that the relay knows, in order.
func Codes() []string { return slices.Sorted(maps.Keys(codes)) }

// Escaped makes untrusted text safe for mrkdwn, cut to limit characters.
func Escaped(s string, limit int) string { return escaped(s, limit) }

// ResetAfter returns X-RateLimit-Reset as seconds from now.
func ResetAfter(value string, now time.Time) string { return resetAfter(value, now) }

// AskMembersAgain makes an App ask Slack again who is in its user groups.
func AskMembersAgain(a *App, group string) {
	g := a.people.groups[group]
	g.next = time.Time{}
	a.people.groups[group] = g
}
