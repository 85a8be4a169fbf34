package multi_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

// A channel and each of its categories are limited, without a script. A limiter on Redis, which any number of processes
// share, is made with multi.New(client, multi.Options{}).
func Example() {
	limiter := multi.NewMemory(nil, multi.Options{})
	scope := ratelimit.Scope{Group: "alerts", Channel: "alerts"}
	tier := func(name string, limit int64) ratelimit.Tier {
		return ratelimit.Tier{
			Name: name, Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow},
			Windows: []ratelimit.Window{{Limit: limit, Per: 30 * time.Minute}},
		}
	}
	levels := []ratelimit.Level{ratelimit.ChannelLevel(tier("channel", 100), "alerts"), ratelimit.LevelOf(tier("category", 2), scope, "disk")}
	var requests []ratelimit.Request
	for i := range 3 {
		requests = append(requests, ratelimit.Request{ID: fmt.Sprint("event-", i), Levels: levels})
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
