package notifier

import (
	"maps"
	"slices"
)

// Codes are the error codes of Slack that the relay knows, in order.
func Codes() []string { return slices.Sorted(maps.Keys(codes)) }
