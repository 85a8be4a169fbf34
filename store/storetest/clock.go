package storetest

import (
	"sync"
	"time"
)

// StartTime is what the clock of a new store shows.
var StartTime = time.UnixMicro(1_795_156_875_342_811)

// Clock is a clock that the test moves, while others read it.
type Clock struct {
	mu sync.Mutex
	T  time.Time
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.T
}

// Advance moves the clock, forward or back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.T = c.T.Add(d)
}
