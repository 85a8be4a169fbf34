package events

import (
	"slices"
	"time"
)

// maxHold is the longest that a rule may hold an event.
const maxHold = 24 * time.Hour

// Hold reports whether a rule holds events. A nil Rules does not.
func (r *Rules) Hold() bool {
	return r != nil && slices.ContainsFunc(r.rules, func(rule compiledRule) bool { return rule.Set.Hold != nil && *rule.Set.Hold > 0 })
}
