package store

import (
	"time"

	"slackrelay/ratelimit"
)

// Decision is the answer to one request.
type Decision struct {
	Outcome    Outcome
	Level      string           // the level that refused, the outermost where several did
	Window     ratelimit.Window // of that level, the one that refuses longest
	Refused    []string         // all levels that refused, outermost first
	Shadow     []string         // shadow levels that would have refused
	RetryAfter time.Duration    // earliest time it could fit if nobody else commits; negative for Never
	// Remaining is per level and window, after a commit, or as it stands on a refusal; empty where nobody looked: for a
	// duplicate, and for what the closed-until cache refused.
	Remaining []Remaining
	DecidedBy DecidedBy
	// Durable is false where what was decided ends with this process.
	Durable bool
}

// Remaining is how full one window of a level is.
type Remaining struct {
	Level  string
	Window ratelimit.Window
	Used   int64 // units; above the limit where that was lowered
	Free   int64 // how many more would fit now, holds for fairness not taken into account
}

// remaining lists the windows of a request's levels, given the units used of each level.
func (r *Request) Remaining(used func(level int) []int64) []Remaining {
	all := make([]Remaining, 0, len(r.Levels))
	for i := range r.Levels {
		for w, n := range used(i) {
			if n < 0 { // nobody looked
				continue
			}
			window := r.Levels[i].Windows[w]
			all = append(all, Remaining{
				Level: r.Levels[i].Name, Window: window, Used: n, Free: max(0, r.Levels[i].Capacity(window)-n),
			})
		}
	}
	return all
}

// refusedBy names the levels whose bits are set, and the window of the first.
func (d *Decision) SetRefused(request *Request, refused, shadow int64, window int) {
	for i := range request.Levels {
		switch name := request.Levels[i].Name; {
		case refused&(1<<i) != 0:
			if windows := request.Levels[i].Windows; len(d.Refused) == 0 && window < len(windows) {
				d.Window = windows[window]
			}
			d.Refused = append(d.Refused, name)
		case shadow&(1<<i) != 0:
			d.Shadow = append(d.Shadow, name)
		}
	}
	if len(d.Refused) > 0 {
		d.Level = d.Refused[0]
	}
	if d.Outcome == Never {
		d.RetryAfter = -1
	}
}
