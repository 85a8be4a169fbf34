package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua/memstore"
	"slackrelay/ratelimit"
)

// Three events of one category ask for a slot at both levels, in one call. NewRedis is used in the same way,
// and shares its limits with every other process.
func Example() {
	limiter := ratelimit.NewMemory(memstore.New(memstore.Options{}), 0)
	scope := ratelimit.Scope{Group: "alerts", Channel: "alerts"}
	levels := []ratelimit.Level{
		ratelimit.Outer("alerts", ratelimit.Window{Limit: 100, Per: 30 * time.Minute}),
		ratelimit.Inner(scope, "category", "disk", ratelimit.Window{Limit: 2, Per: 30 * time.Minute}),
	}
	var requests []ratelimit.Request
	for i := range 3 {
		requests = append(requests, ratelimit.Request{ID: fmt.Sprint("event-", i), Levels: levels, Category: "disk"})
	}
	decisions, err := limiter.Admit(context.Background(), scope, requests)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range decisions {
		fmt.Println(d.Outcome, d.Level, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// admitted  0s
	// admitted  0s
	// dropped category 30m0s
}
