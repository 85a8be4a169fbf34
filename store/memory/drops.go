package memory

import (
	"strconv"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// recordDrop adds a drop to the log of a channel, which keeps at most this many.
func recordDrop(tx *Tx, keys lua.Keys, drop store.Drop, at time.Time, keep int64) {
	lookOrCreate[dropLog](tx, keys.Drops()).add(at, keep, map[string]string{
		"event":    string(drop.Payload),
		"category": drop.Category,
		"level":    drop.Level,
		"used":     strconv.FormatInt(drop.Used, 10),
		"limit":    strconv.FormatInt(drop.Limit, 10),
		"retry_us": strconv.FormatInt(drop.RetryAfter.Microseconds(), 10),
	})
}
