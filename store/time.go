package store

import (
	"context"
	"time"
)

// Microseconds converts a number of microseconds, the unit of the scripts, to a duration.
func Microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Sleep waits for a time, or until the context ends, and then returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
