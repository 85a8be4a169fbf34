package pipeline

import (
	"context"
	"sync"

	"slackrelay/store"
)

// callBudget reserves calls of Slack for all channels of a [Courier]. Those that ask while a question is under way share the
// next one, so that a workspace with many busy channels costs few questions.
type callBudget struct {
	budget store.Budget

	mu      sync.Mutex
	waiting map[budgetKind][]chan budgetAnswer // nobody asks for a kind that is absent
}

// budgetKind is a budget: what calls are reserved from together.
type budgetKind struct {
	workspace, method string
	perMinute         int64
}

// budgetAnswer is what a channel gets that waits for an answer.
type budgetAnswer struct {
	reserved store.Reservation
	err      error
	asksNext bool // there is no answer: the channel asks the next question, for all that wait
}

// reserve reserves one call. ctx bounds the question, if it is asked here.
func (b *callBudget) reserve(ctx context.Context, kind budgetKind) (store.Reservation, error) {
	answer := make(chan budgetAnswer, 1)
	if !b.join(kind, answer) {
		if got := <-answer; !got.asksNext {
			return got.reserved, got.err
		}
	}
	all := b.take(kind)
	reserved, err := b.budget.ReserveCalls(ctx, kind.workspace, store.Calls{
		Method: kind.method, PerMinute: kind.perMinute, N: int64(len(all)),
	})
	b.passOn(kind)
	for i, one := range all {
		if int64(i) < reserved.N {
			one <- budgetAnswer{reserved: store.Reservation{N: 1}, err: err}
		} else {
			one <- budgetAnswer{reserved: store.Reservation{Wait: reserved.Wait, Reason: reserved.Reason}, err: err}
		}
	}
	got := <-answer
	return got.reserved, got.err
}

// join lets a channel wait for an answer, and reports whether nobody asks: the channel does.
func (b *callBudget) join(kind budgetKind, answer chan budgetAnswer) (asks bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting, busy := b.waiting[kind]
	if b.waiting == nil {
		b.waiting = map[budgetKind][]chan budgetAnswer{}
	}
	b.waiting[kind] = append(waiting, answer)
	return !busy
}

// take returns all that wait, who are the question's from now on.
func (b *callBudget) take(kind budgetKind) []chan budgetAnswer {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.waiting[kind]
	b.waiting[kind] = nil
	return all
}

// passOn lets the first of those that wait ask the next question.
func (b *callBudget) passOn(kind budgetKind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waiting := b.waiting[kind]; len(waiting) > 0 {
		waiting[0] <- budgetAnswer{asksNext: true}
		return
	}
	delete(b.waiting, kind)
}
