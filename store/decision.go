package store

import (
	"time"

	"slackrelay/ratelimit"
)

// Answer is what a call that decides returns. A [Store] also returns what it knows of the levels after the call.
type Answer struct {
	Decisions []Decision    // one for each request
	Closed    []ClosedLevel // those of the requests' levels that certainly are full
	Numbers   []int64       // of the entries that were queued; only the store in memory returns them
	Stepped   time.Duration // by how much the store's clock went back since the last call; 0 = it did not
}

// ClosedLevel is a level that certainly cannot take one more unit for a time.
type ClosedLevel struct {
	Level  *ratelimit.Level
	For    time.Duration // from now on
	Window int           // the index of the level's window that is full
}

// Decision is the answer to one request: what its levels answered, and what was decided about its event.
type Decision struct {
	ratelimit.Decision
	Outcome   Outcome
	DecidedBy DecidedBy
	// Durable reports whether the decision survives the end of this process.
	Durable bool
}

// SetRefused fills in the levels of the request that refused, as a script returns them: by bits, of its shadow levels too,
// and the index of the window that refuses longest.
func (d *Decision) SetRefused(request *Request, refused, shadow int64, window int) {
	for i := range request.Levels {
		level := &request.Levels[i]
		switch {
		case refused&(1<<i) != 0:
			if len(d.Refused) == 0 && window < len(level.Windows) {
				d.Window = level.Windows[window]
			}
			d.Refused = append(d.Refused, level.Name)
		case shadow&(1<<i) != 0:
			d.Shadow = append(d.Shadow, level.Name)
		}
	}
	if len(d.Refused) > 0 {
		d.Level = d.Refused[0]
	}
	if d.Outcome == Never {
		d.RetryAfter = -1
	}
}

// DecidedBy is what made a decision.
type DecidedBy string

// What makes decisions.
const (
	ByRedis       DecidedBy = "redis"
	ByMemory      DecidedBy = "memory"
	ByClosedCache DecidedBy = "closed_cache" // this replica, which knew that a level is closed
	ByFallback    DecidedBy = "fallback"     // this replica alone, while Redis is unavailable
)
