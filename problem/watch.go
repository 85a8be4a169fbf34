package problem

import "time"

// Watch is what is known of the time in which at least one replica watched the heartbeats: a document that replicas tick
// regularly. A gap between two ticks is time in which nobody watched: no replica ran, or the store was away. Times are the
// store's, in microseconds. The zero value is a watch that never ticked.
type Watch struct {
	Since     int64 `json:"since"`               // when the watch began
	Until     int64 `json:"until"`               // the last tick
	Unwatched int64 `json:"unwatched,omitempty"` // the sum of all gaps; less than 0 after the store's clock went back
	Gaps      int64 `json:"gaps,omitempty"`      // how many there were
}

// MaxGap is the longest time between two ticks that is not a gap. A replica that starts does not tick before this time has
// passed, so that a restart of the only replica is always a gap.
const MaxGap = 5 * time.Second

// Tick notes that somebody watches now. interrupted reports that the caller could not reach the store since its last tick: beats
// that others wrote meanwhile may be lost.
func (w Watch) Tick(now int64, interrupted bool) Watch {
	if w.Since == 0 {
		return Watch{Since: now, Until: now}
	}
	passed := now - w.Until
	isGap := passed > MaxGap.Microseconds() || passed < -MaxGap.Microseconds()
	if isGap {
		w.Unwatched += passed
		w.Until = now
	}
	if isGap || interrupted {
		w.Gaps++
	}
	w.Until = max(w.Until, now)
	return w
}

// Clock returns the watched time: the store's time without the gaps. It does not jump if the store's clock is set.
func (w Watch) Clock(now int64) int64 { return now - w.Unwatched }

// Time is the inverse of Clock.
func (w Watch) Time(watched int64) int64 { return watched + w.Unwatched }
