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

// Decision is the answer to one request.
type Decision struct {
	Outcome    Outcome
	Level      string           // the level that refused, the outermost where several did
	Window     ratelimit.Window // the window of that level that refuses longest
	Refused    []string         // all levels that refused, outermost first
	Shadow     []string         // shadow levels that would have refused
	RetryAfter time.Duration    // the earliest time it could fit if nothing else is admitted; negative for Never
	// Remaining is how full each window of each level is: after the request if it was admitted, else at the refusal. It is
	// empty where no level was read: for a duplicate, and for a refusal by the cache of closed levels.
	Remaining []Remaining
	DecidedBy DecidedBy
	// Durable reports whether the decision survives the end of this process.
	Durable bool
}

// Remaining is how full one window of a level is.
type Remaining struct {
	Level  string
	Window ratelimit.Window
	Used   int64 // units; above the limit where the limit was lowered
	Free   int64 // how many more units would fit now; slots that fairness reserves count as free
}

// Remaining lists the windows of a request's levels. used returns the units used in each window of a level; a negative
// number means that the window was not read.
func (r *Request) Remaining(used func(level int) []int64) []Remaining {
	all := make([]Remaining, 0, len(r.Levels))
	for i := range r.Levels {
		for w, n := range used(i) {
			if n < 0 {
				continue
			}
			window := r.Levels[i].Windows[w]
			free := max(0, r.Levels[i].Capacity(window)-n)
			all = append(all, Remaining{Level: r.Levels[i].Name, Window: window, Used: n, Free: free})
		}
	}
	return all
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
