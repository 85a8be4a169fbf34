package store

import "time"

// Microseconds converts a number of microseconds, the unit of the scripts, to a duration.
func Microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
