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

// gatePass is the weight that a body has in a queue of the gate. The zero value has none.
type gatePass struct {
	queue  *semaphore.Weighted
	weight int64
}

// leave lets others enter. It may be called more than once.
func (p *gatePass) leave() {
	if p.queue != nil {
		p.queue.Release(p.weight)
		p.queue = nil
	}
}

// enter waits until a body of this weight, in bytes, may be decoded. The pass must be left once it was decided.
func (g *decodeGate) enter(ctx context.Context, weight int64) (gatePass, error) {
	weight = min(weight, gateBytes)
	queue := g.large
	if weight <= smallWeight {
		queue = g.small
	}
	if !queue.TryAcquire(weight) {
		ctx, cancel := context.WithTimeout(ctx, gateTimeout)
		defer cancel()
		if queue.Acquire(ctx, weight) != nil {
			return gatePass{}, errorf(unavailable, "too many webhooks are being processed; send the request again")
		}
	}
	return gatePass{queue, weight}, nil
}
