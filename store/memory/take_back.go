package memory

import (
	"context"
	"fmt"
	"time"

	"slackrelay/store"
)

const (
	stoppedWait  = 50 * time.Millisecond // of claims after [Store.TakeBack]
	inFlightPoll = 5 * time.Millisecond  // of TakeBack, while a message is in flight
)

// TakeBack stops claims from a channel, waits until what was claimed is settled, and removes the channel's messages, dead
// letters included. It returns the result of each message since the last TakeBack, by its number. Those that left the
// outbox are only known with [Options.KeepResults]. [Store.Resume] allows claims again, also after an error, which is that
// of ctx.
func (s *Store) TakeBack(ctx context.Context, channel store.Channel) (map[int64]store.OutageResult, error) {
	for {
		results, done := s.takeBack(channel)
		if done {
			return results, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for what is being sent from channel %s: %w", channel.Name, ctx.Err())
		case <-time.After(inFlightPoll):
		}
	}
}

func (s *Store) takeBack(channel store.Channel) (results map[int64]store.OutageResult, done bool) {
	s.do(channel, func(tx channelTx) {
		current := tx.lease()
		current.stopped = true
		if current.inFlight != 0 && current.until > tx.now {
			return
		}
		done = true
		results = tx.outbox().takeBack(tx.now)
		tx.dead().remove(func(l store.DeadLetter) bool { return results[l.Number].Result == store.Failed })
	})
	return results, done
}

// takeBack removes the messages and the results of those that left.
func (q *queue) takeBack(now int64) map[int64]store.OutageResult {
	results := map[int64]store.OutageResult{}
	for number, left := range q.results {
		result := left.result
		result.Age = now - left.at
		results[number] = result
	}
	for i := range q.messages {
		results[q.messages[i].number] = q.messages[i].outageResult(now)
	}
	q.results = nil
	q.messages = nil
	return results
}

// outageResult is what is known of a message that waits.
func (e *entry) outageResult(now int64) store.OutageResult {
	result := store.OutageResult{
		Age: now - e.at, Attempts: e.attempts, Faults: e.faults, Lookups: e.looked, SendAgain: e.resend,
	}
	if e.sent > 0 {
		named := store.Entry{Number: e.number, AdmittedAt: e.at, Name: e.name}
		result.FirstAttempt = max(1, now-e.sent)
		result.LastAttempt = max(1, now-e.tried)
		result.Name = named.PostedAs()
	}
	return result
}

// Resume allows claims from a channel again after [Store.TakeBack].
func (s *Store) Resume(channel store.Channel) {
	s.do(channel, func(tx channelTx) {
		tx.lease().stopped = false
		tx.lookNow(store.WorkSend)
	})
}

// keepResult keeps the result of a message for [Store.TakeBack].
func (s *Store) keepResult(tx channelTx, e *entry, result store.OutageResult) {
	if s.opts.KeepResults && e.kind == string(store.KindMessage) {
		tx.outbox().keepResult(e, result)
	}
}
