package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// countBatch is what one call merges into the store: either counts, or what the fallback admitted.
type countBatch struct {
	id      store.MergeID
	restore []store.Request
	counts  store.LocalCounts
}

// maxRestoredBytes bounds the messages of one batch of what the fallback admitted.
const maxRestoredBytes = 256 << 10

// Flush merges everything that this process counted by itself into the store, but for channels whose store is unavailable.
func (l *Limiter) Flush(ctx context.Context) error {
	for _, ch := range l.allChannels() {
		if ch.outage.down() {
			continue
		}
		if err := ch.mergeCounts(ctx); err != nil {
			return fmt.Errorf("channel %s: %w", ch.scope.Name, err)
		}
	}
	return nil
}

// scheduleMerge has the counts merged after Options.MergeEvery, and again after that while it fails. The caller holds
// counts.mu.
func (ch *channel) scheduleMerge() {
	if ch.counts.scheduled {
		return
	}
	ch.counts.scheduled = true
	ch.limiter.inBackground(func(ctx context.Context) {
		sleepErr := ratelimit.Sleep(ctx, ch.limiter.stretch(ch.opts.MergeEvery))
		ch.counts.mu.Lock()
		ch.counts.scheduled = false
		ch.counts.mu.Unlock()
		if sleepErr != nil || ch.outage.down() {
			return // Close merges them, or the end of the outage
		}
		if err := ch.mergeCounts(ctx); err != nil {
			ch.opts.Logger.WarnContext(ctx, "drops are not counted in Redis yet; they are merged later",
				"channel", ch.scope.Name, "error", err)
			ch.counts.mu.Lock()
			ch.scheduleMerge()
			ch.counts.mu.Unlock()
		}
	})
}

// mergeCounts sends what was counted before, in order. What is counted meanwhile is left to the next merge: during a storm,
// this one would never end.
func (ch *channel) mergeCounts(ctx context.Context) error {
	ch.counts.sending.Lock()
	defer ch.counts.sending.Unlock()
	for last := false; !last; {
		repeated := ch.counts.unconfirmed != nil
		b := ch.counts.nextBatch(ch.opts.Replica)
		if b == nil {
			return nil
		}
		if err := ch.send(ctx, b); err != nil {
			b.shrink(err)
			return fmt.Errorf("merge counts, batch %d: %w", b.id.Sequence, err)
		}
		ch.counts.unconfirmed = nil
		last = !repeated && len(b.restore) == 0
	}
	return nil
}

func (ch *channel) send(ctx context.Context, b *countBatch) error {
	ctx, cancel := context.WithTimeout(ctx, ch.opts.CallTimeout)
	defer cancel()
	if len(b.restore) > 0 {
		return ch.store.Restore(ctx, ch.scope, asOf(ch.opts.Now(), b.restore), b.id)
	}
	return ch.store.MergeCounts(ctx, ch.scope, b.id, b.counts)
}

// shrink leaves half of the drops for the record out of a batch that got no answer, so that it arrives in the end. Its counts
// stay.
func (b *countBatch) shrink(err error) {
	if !errors.Is(err, store.ErrNotSent) {
		b.counts.Drops = b.counts.Drops[(len(b.counts.Drops)+1)/2:]
	}
}

// nextBatch returns the batch to send now: the unconfirmed one, else what the fallback admitted, else counts; nil = there is
// none. The caller holds sending.
func (c *counts) nextBatch(replica string) *countBatch {
	if c.unconfirmed != nil {
		return c.unconfirmed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := &countBatch{}
	if n := restoreLength(c.restored); n > 0 {
		b.restore = c.restored[:n:n]
		c.restored = c.restored[n:]
	} else if len(c.totals) > 0 {
		b.counts = c.flush()
	} else {
		return nil
	}
	c.sequence++
	b.id = store.MergeID{Replica: replica, Sequence: c.sequence}
	c.unconfirmed = b
	return b
}

// flush removes all counts and returns them. The caller holds mu.
func (c *counts) flush() store.LocalCounts {
	flushed := store.LocalCounts{Totals: c.totals, Categories: c.categories, LearnCategories: c.learn, DigestCounts: c.digest}
	flushed.Drops, flushed.KeepDrops = c.drops.flush()
	c.totals = nil
	c.categories = nil
	c.digest = nil
	c.learn = false
	return flushed
}

// restoreLength is how many of the admitted requests fit one batch: those of one configuration, up to the first of another.
func restoreLength(admitted []store.Request) (n int) {
	for bytes := 0; n < min(len(admitted), ratelimit.MaxBatch); n++ {
		bytes += len(admitted[n].Payload())
		if n > 0 && (bytes > maxRestoredBytes || !batchable(&admitted[n], &admitted[0])) {
			break
		}
	}
	return n
}

// asOf returns requests with their results as they are seen now.
func asOf(now time.Time, requests []store.Request) []store.Request {
	current := slices.Clone(requests)
	for i := range current {
		if result := current[i].Result; result != nil {
			current[i].Result = &store.AgedResult{OutageResult: result.After(now.Sub(result.At)), At: now}
		}
	}
	return current
}
