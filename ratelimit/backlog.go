package ratelimit

import (
	"slices"
	"time"
)

// Backlog are the numbers of the entries that a level admitted and that wait, oldest first.
type BacklogQueue struct{ Numbers []int64 }

// Leave takes an entry that was settled out. It works on nil.
func (b *BacklogQueue) Leave(number int64) {
	if b != nil {
		b.Numbers = slices.DeleteFunc(b.Numbers, func(n int64) bool { return n == number })
	}
}

// backlog counts the entries of the outbox that the level admitted and that still wait.
type BacklogState struct{ *BacklogQueue }

func (*BacklogState) Load(int64, *Level) int64 { return 0 }

func (b *BacklogState) Used(int64, *Level, int) int64 { return int64(len(b.Numbers)) }

// backlogAgain is when to look at a full backlog again: nobody knows when it shrinks.
const backlogAgain = 100_000

func (*BacklogState) FitsAt(now int64, _ *Level, _ int, _, _ int64) int64 { return now + backlogAgain }

func (b *BacklogState) Take(_ int64, _ *Level, t Spend) {
	for range t.Units {
		b.Numbers = append(b.Numbers, t.Number)
	}
}

func (*BacklogState) Refund(_ int64, _ *Level, at int64, _ Spend) bool { return at != 0 }

func (b *BacklogState) Value() any { return b.BacklogQueue }

func (*BacklogState) Longest() time.Duration { return 0 }
