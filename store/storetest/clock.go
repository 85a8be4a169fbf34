package storetest

import (
	"sync"
	"time"
)

var StartTime = time.UnixMicro(1_795_156_875_342_811)

// clock is moved by the test, and read by whatever runs beside it.
type Clock struct {
	mu sync.Mutex
	T  time.Time
}

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.T
}

func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.T = c.T.Add(d)
}
