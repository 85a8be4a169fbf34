package store

import (
	"strconv"
	"time"
)

// Drop is one record of a channel's log of drops.
type Drop struct {
	ID         string // rises with time
	At         time.Time
	Payload    []byte // of the event, as it would have been queued; empty = it was not known
	Category   string
	Level      string        // the level that refused, or the reason ([Outcome.Reason])
	Used       int64         // units of that level; -1 where Level is a reason
	Limit      int64         // its limit; -1 where Level is a reason
	RetryAfter time.Duration // until it would have fit; 0 = unknown
}

// ParseDrop reads the fields of a record, as lua/admit.lua and lua/merge_counts.lua write them. ID and At are not among
// them.
func ParseDrop(fields map[string]string) Drop {
	numbers := parseCounts(fields)
	return Drop{
		Payload:    []byte(fields["event"]),
		Category:   fields["category"],
		Level:      fields["level"],
		Used:       numbers["used"],
		Limit:      numbers["limit"],
		RetryAfter: Microseconds(numbers["retry_us"]),
	}
}

// parseCounts returns those fields whose values are integers.
func parseCounts(fields map[string]string) map[string]int64 {
	counts := make(map[string]int64, len(fields))
	for name, value := range fields {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			counts[name] = n
		}
	}
	return counts
}
