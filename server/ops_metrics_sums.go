package server

import (
	"time"

	"slackrelay/pipeline"
)

// channelSums are the values of gauges, by the label of their channels: most labels stand for one channel.
type channelSums struct {
	byLabel  map[string]*channelSum
	fallback map[[2]string]int // channels, by label and policy
}

type channelSum struct {
	pending, held, imbalance int64
	faulty                   int64 // channels
	oldest                   time.Duration
	used                     map[string]int64 // by level
	paused                   map[string]int   // channels, by reason
}

func newChannelSums() *channelSums {
	return &channelSums{byLabel: map[string]*channelSum{}, fallback: map[[2]string]int{}}
}

// add adds a channel under a label.
func (s *channelSums) add(label string, status *pipeline.ChannelStatus) {
	sum := s.byLabel[label]
	if sum == nil {
		sum = &channelSum{used: map[string]int64{}, paused: map[string]int{}}
		s.byLabel[label] = sum
	}
	sum.pending += status.Ledger.Pending
	sum.held += status.Held
	sum.imbalance += status.Ledger.Imbalance()
	if status.State.Fault != nil {
		sum.faulty++
	}
	sum.oldest = max(sum.oldest, status.Oldest)
	if len(status.Levels) > 0 { // its first window
		sum.used[status.Levels[0].Level] += status.Levels[0].Used
	}
	if status.State.PausedUntil != nil {
		sum.paused[status.State.Reason]++
	}
}
