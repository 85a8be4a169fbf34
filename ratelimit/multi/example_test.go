package multi_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
	"slackrelay/store"
)

// A channel and each of its categories are limited, without a script. A limiter on Redis, which any number of processes
// share, is made with multi.New(client, multi.Options{}).
func Example() {
	limiter := multi.NewMemory(nil, multi.Options{})
	scope := store.Channel{Group: "alerts", Name: "alerts"}
	tier := func(name string, limit int64) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{
			Name: name, Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow},
			Windows: []ratelimit.Window{{Limit: limit, Per: 30 * time.Minute}},
		}
	}
	levels := []ratelimit.Level{store.ChannelLevel(tier("channel", 100), "alerts"), store.LevelOf(tier("category", 2), scope, "disk")}
	var requests []store.Request
	for i := range 3 {
		requests = append(requests, store.Request{ID: fmt.Sprint("event-", i), Levels: levels})
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
