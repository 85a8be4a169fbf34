package store

import (
	"strconv"
	"time"
)

// Drop is a record of what was dropped.
type Drop struct {
	ID         string // rising
	At         time.Time
	Payload    []byte // of the event, as it would have been queued; empty where that was not known
	Category   string
	Level      string        // the level that refused, or the reason: never, full, suppressed
	Used       int64         // units of that level; -1 where a reason refused
	Limit      int64         // its limit; -1
	RetryAfter time.Duration // until it would have fit; 0 where that is not known
}

// dropOf reads a record of lua/admit.lua or lua/merge_counts.lua.
func ParseDrop(fields map[string]string) Drop {
	numbers := parseCounts(fields)
	return Drop{
		Payload: []byte(fields["event"]), Category: fields["category"], Level: fields["level"],
		Used: numbers["used"], Limit: numbers["limit"], RetryAfter: Microseconds(numbers["retry_us"]),
	}
}

// parsed reads the counts of a hash; what is no number is left out.
func parseCounts(hash map[string]string) map[string]int64 {
	counts := make(map[string]int64, len(hash))
	for name, value := range hash {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			counts[name] = n
		}
	}
	return counts
}
