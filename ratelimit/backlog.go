package ratelimit

import (
	"fmt"
	"slices"
	"time"
)

// Backlog admits while fewer than L entries wait in the outbox.
const Backlog StrategyKind = "backlog"

// Queue is the type of the key that holds a backlog.
type Queue string

// The types.
const (
	Stream Queue = "stream"
	List   Queue = "list"
)

var backlog = method{
	kind: Backlog,
	tag: func(s Strategy) string {
		if s.Queue == List {
			return "backlog-list"
		}
		return "backlog-stream"
	},
	check: func(s Strategy) error {
		if s.Queue != "" && s.Queue != Stream && s.Queue != List {
			return fmt.Errorf("queue %q is unknown", s.Queue)
		}
		return nil
	},
	state: func(kept any) State {
		if b, ok := kept.(*BacklogQueue); ok {
			return &backlogState{b}
		}
		return &backlogState{&BacklogQueue{}}
	},
}

// BacklogQueue holds the numbers of the entries that a level admitted and that wait, oldest first.
type BacklogQueue struct{ Numbers []int64 }

// Leave removes an entry that left the outbox. It works on nil.
func (b *BacklogQueue) Leave(number int64) {
	if b != nil {
		b.Numbers = slices.DeleteFunc(b.Numbers, func(n int64) bool { return n == number })
	}
}

// backlogState counts the entries of the outbox that the level admitted and that still wait.
type backlogState struct{ *BacklogQueue }

// Load implements [State].
func (*backlogState) Load(int64, *Level) int64 { return 0 }

// Used implements [State].
func (b *backlogState) Used(int64, *Level, int) int64 { return int64(len(b.Numbers)) }

// backlogAgain is when to look at a full backlog again, in microseconds: it is unknown when it shrinks.
const backlogAgain = 100_000

// FitsAt implements [State].
func (*backlogState) FitsAt(now int64, _ *Level, _ int, _, _ int64) int64 { return now + backlogAgain }

// Add implements [State].
func (b *backlogState) Add(_ int64, _ *Level, c Charge) {
	for range c.Units {
		b.Numbers = append(b.Numbers, c.Number)
	}
}

// Refund implements [State].
func (*backlogState) Refund(_ int64, _ *Level, at int64, _ Charge) bool { return at != 0 }

// Value implements [State].
func (b *backlogState) Value() any { return b.BacklogQueue }

// Lasts implements [State].
func (*backlogState) Lasts(int64) time.Duration { return 0 }
