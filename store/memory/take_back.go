package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slackrelay/store"
)

// How long claims and TakeBack wait before they look again.
const (
	stoppedFor = 50 * time.Millisecond
	inHandFor  = 5 * time.Millisecond
)

// messageKind is the kind of what the limiter admits.
const messageKind = "message"

// end remembers what became of a message, for TakeBack.
func (m *Store) end(tx *Tx, channel store.Channel, entry *Entry, past store.OutageResult) {
	if m.opts.KeepResults && entry.Kind == messageKind {
		Value[Queue](tx, channel.Keys().Outbox()).End(entry, past)
	}
}

// TakeBack stops claims from a channel, waits until what was claimed is settled, and removes its messages, dead letters
// included. It returns what became of each since the last time, by its number; see [Options.Returned]. Resume lets
// claims go on.
func (m *Store) TakeBack(ctx context.Context, channel store.Channel) (map[int64]store.OutageResult, error) {
	for {
		pasts, done := m.takeBack(channel)
		if done {
			return pasts, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for what is being sent from channel %s: %w", channel.Name, ctx.Err())
		case <-time.After(inHandFor):
		}
	}
}

func (m *Store) takeBack(channel store.Channel) (pasts map[int64]store.OutageResult, done bool) {
	k := channel.Keys()
	m.data.Do(func(tx *Tx) {
		held := Value[lease](tx, k.Lease())
		held.stopped = true
		if held.inHand != 0 && held.until > tx.Now {
			return
		}
		done, pasts = true, map[int64]store.OutageResult{}
		box := LookOrNew[Queue](tx, k.Outbox())
		for number, ended := range box.Ended {
			past := ended.Past
			past.Age = tx.Now - ended.At
			pasts[number] = past
		}
		for i := range box.Entries {
			pasts[box.Entries[i].Number] = waitingPast(&box.Entries[i], tx.Now)
		}
		box.Ended, box.Entries = nil, nil
		dead := LookOrNew[DeadLetters](tx, k.Dead())
		dead.All = slices.DeleteFunc(dead.All, func(letter store.DeadLetter) bool { return pasts[letter.Number].Result == store.Failed })
	})
	return pasts, done
}

// waitingPast is what is known of a message that waits.
func waitingPast(e *Entry, now int64) store.OutageResult {
	past := store.OutageResult{Age: now - e.At, Attempts: e.Attempts, Faults: e.Faults, Lookups: e.Looked, SendAgain: e.Again}
	if e.Sent > 0 {
		named := store.Entry{Number: e.Number, AdmittedAt: e.At, Name: e.Name}
		past.FirstAttempt, past.LastAttempt, past.Name = max(1, now-e.Sent), max(1, now-e.Tried), named.PostedAs()
	}
	return past
}

// Resume lets claims from a channel go on after TakeBack.
func (m *Store) Resume(channel store.Channel) {
	m.data.Do(func(tx *Tx) { Value[lease](tx, channel.Keys().Lease()).stopped = false })
}
