package store

import "errors"

// ErrNotSent marks a [ratelimit.ErrUnavailable] of a call that certainly did not take effect.
var ErrNotSent = errors.New("not carried out")

// ErrPartial marks a [ratelimit.ErrUnavailable] of a call that some servers of a Redis Cluster answered: the channels of those
// go on.
var ErrPartial = errors.New("some servers answered")

// ErrLeaseLost is returned when another sender has the lease, or claimed the entry since: nothing was written, and that
// sender may send the entry too.
var ErrLeaseLost = errors.New("another sender holds the lease")
