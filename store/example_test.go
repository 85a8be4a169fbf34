package store_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// Three events of one category ask for a slot at both levels, in one call. NewRedis is used in the same way,
// and shares its limits with every other process.
func Example() {
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	scope := store.Channel{Group: "alerts", Name: "alerts"}
	halfHourly := func(name string, limit int64) ratelimit.LevelSpec {
		return ratelimit.LevelSpec{Name: name, Windows: []ratelimit.Window{{Limit: limit, Per: 30 * time.Minute}}}
	}
	levels := []ratelimit.Level{
		store.ChannelLevel(halfHourly(ratelimit.LevelChannel, 100), "alerts"),
		store.LevelOf(halfHourly(ratelimit.LevelCategory, 2), scope, "disk"),
	}
	var requests []store.Request
	for i := range 3 {
		requests = append(requests, store.Request{Request: ratelimit.Request{ID: fmt.Sprint("event-", i), Levels: levels, Category: "disk"}})
	}
	answer, err := limiter.Admit(context.Background(), scope, requests)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range answer.Decisions {
		fmt.Println(d.Outcome, d.Level, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// admitted  0s
	// admitted  0s
	// dropped category 30m0s
}

// A client is limited twice, 3 per 5 s and 10 per 5 min, and the service it calls once a second: both must pass.
func ExampleLevelOf() {
	limiter := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{})
	scope := store.Channel{Group: "api", Name: "api"}
	service := ratelimit.LevelSpec{
		Name: "service", Strategy: ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 5}, Windows: []ratelimit.Window{{Limit: 60, Per: time.Minute}},
	}
	client := ratelimit.LevelSpec{
		Name: "client", Windows: []ratelimit.Window{{Limit: 3, Per: 5 * time.Second}, {Limit: 10, Per: 5 * time.Minute}},
	}
	request := store.Request{
		Request: ratelimit.Request{
			ID:     "call-1",
			Levels: []ratelimit.Level{store.ChannelLevel(service, "api"), store.LevelOf(client, scope, "10.0.0.7")},
		},
	}
	answer, err := limiter.Admit(context.Background(), scope, []store.Request{request})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range answer.Decisions[0].Remaining {
		fmt.Println(r.Level, r.Window.Per, "left:", r.Free)
	}
	// Output:
	// service 1m0s left: 4
	// client 5s left: 2
	// client 5m0s left: 9
}
