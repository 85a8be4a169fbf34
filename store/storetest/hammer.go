package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/store"
)

func testGoroutinesAdmitExactlyTheLimit(t *testing.T, start Start) {
	b := start(t)
	require.Equal(t, 100, Hammer(t.Context(), t, b, 16, 40))
	require.Equal(t, store.Ledger{Received: 640, Admitted: 100, Dropped: 540, Pending: 100}, b.MustReport(t).Ledger)
}

// Hammer admits from many goroutines at once and returns how many got through.
func Hammer(ctx context.Context, t *testing.T, l Limiter, goroutines, each int) int {
	t.Helper()
	lim := Limits{Channel: PerMinute(100), Category: PerMinute(10)}
	results := make(chan int, goroutines)
	for g := range goroutines {
		go func() {
			admitted := 0
			for i := range each {
				answer, err := l.Admit(ctx, Scope, []store.Request{
					lim.Request(fmt.Sprintf("%d-%d", g, i), fmt.Sprint("c", (g+i)%20)),
				})
				if err == nil && answer.Decisions[0].Outcome == store.Admitted {
					admitted++
				}
			}
			results <- admitted
		}()
	}
	total := 0
	for range goroutines {
		total += <-results
	}
	return total
}
