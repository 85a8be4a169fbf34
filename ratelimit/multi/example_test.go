package multi_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/multi"
)

// A service and each of its clients are limited, without a script. A limiter on Redis, which any number of processes share,
// is made with multi.New(client, multi.Options{IDs: "api:{service}:ids"}). All keys have the same hash tag, so that they are
// on the same shard of a Redis Cluster.
func Example() {
	limiter := multi.NewMemory(nil, multi.Options{})
	spec := func(name string, limit int64) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{
			Name: name, Strategy: ratelimit.Strategy{Kind: ratelimit.FixedWindow},
			Windows: []ratelimit.Window{{Limit: limit, Per: 30 * time.Minute}},
		}
	}
	levels := []ratelimit.Level{spec("service", 100).At("api:{service}"), spec("client", 2).At("api:{service}:client:10.0.0.7")}
	var requests []ratelimit.Request
	for i := range 3 {
		requests = append(requests, ratelimit.Request{ID: fmt.Sprint("call-", i), Levels: levels})
	}
	decisions, err := limiter.Admit(context.Background(), requests)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range decisions {
		fmt.Println(d.Refused, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// [] 0s
	// [] 0s
	// [client] 30m0s
}
