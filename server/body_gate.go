package server

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// decodeGate bounds the bytes that are decoded and decided at a time, because a decoded body takes several times its size. The
// others wait for their turn; small bodies do not wait for large ones.
type decodeGate struct{ small, large *semaphore.Weighted }

const (
	gateBytes   = 4 << 20
	smallWeight = 64 << 10
	gateTimeout = 5 * time.Second
	eventWeight = 512 // of each object in a body: what an event takes besides its text
)

func newDecodeGate() *decodeGate {
	return &decodeGate{small: semaphore.NewWeighted(gateBytes), large: semaphore.NewWeighted(gateBytes)}
}

// enter waits until a body of this weight, in bytes, may be decoded. leave must be called once it was decided.
func (g *decodeGate) enter(ctx context.Context, weight int64) (leave func(), err error) {
	weight = min(weight, gateBytes)
	queue := g.large
	if weight <= smallWeight {
		queue = g.small
	}
	if !queue.TryAcquire(weight) {
		ctx, cancel := context.WithTimeout(ctx, gateTimeout)
		defer cancel()
		if queue.Acquire(ctx, weight) != nil {
			return nil, errorf(unavailable, "too many webhooks are being processed; send the request again")
		}
	}
	return func() { queue.Release(weight) }, nil
}
