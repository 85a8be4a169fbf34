package replica

import (
	"context"
	"fmt"

	"slackrelay/store"
)

// The journal is what the fallback admitted during an outage and the store does not have yet. Above its bounds, in bytes,
// senders are told to try again later.
const (
	maxJournal   = 16 << 20 // of one channel
	maxJournals  = 48 << 20 // of all channels together
	minJournal   = 1 << 20  // of one channel, however much the others have
	requestBytes = 512      // of a request beside its message
	levelBytes   = 256      // of each of its levels, here and in the fallback
)

// journalEntry is an admission of the fallback.
type journalEntry struct {
	request store.Request
	number  int64 // of its message in the fallback's outbox
}

// journalSize is about what an admitted request takes. The fallback's outbox shares its message.
func journalSize(r *store.Request) int64 {
	return int64(requestBytes + len(r.Payload()) + levelBytes*len(r.Levels))
}

// journalFull reports whether no more is admitted, given the bytes of the journals of all channels.
func (o *outage) journalFull(all int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.journalBytes >= maxJournal || o.journalBytes >= minJournal && all >= maxJournals
}

// addToJournal adds an admission, and returns by how many bytes the journal grew.
func (o *outage) addToJournal(r *store.Request, number int64) int64 {
	size := journalSize(r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.journal = append(o.journal, journalEntry{request: *r, number: number})
	o.journalBytes += size
	for i := range r.Levels {
		o.seeded[r.Levels[i].Key] = true
	}
	return size
}

// journalSummary counts the entries of a journal by their state when they were merged.
type journalSummary struct {
	admitted int
	unsent   int
	dead     int
}

// collectResults stops the sending of what the fallback admitted, and remembers what happened to it.
func (ch *channel) collectResults(ctx context.Context) error {
	if ch.opts.FallbackOutbox == nil {
		return nil
	}
	results, err := ch.opts.FallbackOutbox.TakeBack(ctx, ch.scope)
	if err != nil {
		return fmt.Errorf("take back what was not sent: %w", err)
	}
	at := ch.opts.Now()
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	for number, result := range results {
		if ch.outage.results == nil {
			ch.outage.results = map[int64]store.AgedResult{}
		}
		ch.outage.results[number] = store.AgedResult{OutageResult: result, At: at}
	}
	return nil
}

// emptyJournal moves the journal to what is merged into the store next, each admission with its result: what waits goes on in
// the shared outbox, and dead letters are dead letters there.
func (ch *channel) emptyJournal() (sum journalSummary) {
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	ch.counts.mu.Lock()
	defer ch.counts.mu.Unlock()
	for _, entry := range ch.outage.journal {
		result, known := ch.outage.results[entry.number]
		if !known {
			result = store.AgedResult{OutageResult: store.OutageResult{Result: store.Delivered}, At: ch.opts.Now()}
		}
		sum.admitted++
		switch {
		case result.Result == "":
			sum.unsent++
		case result.Result == store.Failed:
			sum.dead++
		case result.TS == "":
			entry.request.Enqueue = nil // nobody can refer to the message
		}
		entry.request.Result = &result
		ch.counts.restored = append(ch.counts.restored, entry.request)
	}
	ch.outage.journal = nil
	clear(ch.outage.results)
	return sum
}

// logUnmerged logs what ends with this process because the store is still unavailable.
func (l *Limiter) logUnmerged(ctx context.Context) {
	for _, ch := range l.allChannels() {
		if !ch.outage.down() {
			continue
		}
		err := ch.collectResults(ctx)
		sum := ch.emptyJournal()
		l.opts.Logger.ErrorContext(ctx, "still without Redis at the end: what was decided without it is not in the shared ledger",
			"channel", ch.scope.Name, "admitted", sum.admitted, "not_sent", sum.unsent, "dead_letters", sum.dead, "error", err)
	}
}
