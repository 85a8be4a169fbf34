package memory

import (
	"time"

	"slackrelay/store"
)

// recordDrop adds a drop to the log of the channel, which keeps at most this many.
func (tx channelTx) recordDrop(drop store.Drop, keep int64) {
	drops := tx.drops()
	drop.ID = drops.nextID(tx.time)
	drop.At = tx.time
	drop.Payload = append([]byte{}, drop.Payload...) // never nil, as those that are read from Redis
	drop.RetryAfter = drop.RetryAfter.Truncate(time.Microsecond)
	drops.add(drop, drop.Payload, keep, maxDropBytes)
}
