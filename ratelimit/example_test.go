package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

// oneEach returns the level of a service that takes one call in each window. multi.NewMemory limits one process;
// store.LimiterOf and multi.New make limiters that any number of processes share.
func oneEach(per time.Duration) []ratelimit.Level {
	spec := ratelimit.LevelSpec{
		Name: "service", Windows: []ratelimit.Window{{Limit: 1, Per: per}}, Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow},
	}
	return []ratelimit.Level{spec.At("api:{service}")}
}

// Do runs something only if it fits, and returns by how much it came too early. The error is the limiter's own, and no error
// of the service.
func ExampleDo() {
	limiter := multi.NewMemory(nil, multi.Options{})
	for _, id := range []string{"first", "second"} {
		request := ratelimit.Request{ID: id, Levels: oneEach(time.Hour)}
		err := ratelimit.Do(context.Background(), limiter, request, func(context.Context) error {
			fmt.Println(id, "runs")
			return nil
		})
		if limited, ok := errors.AsType[*ratelimit.LimitedError](err); ok {
			fmt.Println(id, "is limited by the", limited.Level, "for", limited.RetryAfter.Round(time.Minute))
		}
	}
	// Output:
	// first runs
	// second is limited by the service for 1h0m0s
}

// Wait blocks until there is a slot.
func ExampleWait() {
	limiter := multi.NewMemory(nil, multi.Options{})
	begin := time.Now()
	for _, id := range []string{"first", "second"} {
		request := ratelimit.Request{ID: id, Levels: oneEach(200 * time.Millisecond)}
		if err := ratelimit.Wait(context.Background(), limiter, request); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("waited:", time.Since(begin) >= 200*time.Millisecond)
	// Output: waited: true
}
