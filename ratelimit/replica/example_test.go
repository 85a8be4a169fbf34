package replica_test

import (
	"context"
	"fmt"
	"time"

	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	"slackrelay/store/memory"
)

// A replica asks the shared store once; what it then knows to be closed, it refuses by itself.
func Example() {
	shared := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{}) // in production, one on Redis
	fallback := memory.New(memory.NewData(memory.DataOptions{}), memory.Options{DecidedBy: store.ByFallback})
	limiter := replica.New(shared, replica.Options{
		Replica: "replica-1", Replicas: 2, Policies: map[string]replica.Policy{"alerts": replica.PolicyLocal},
		Fallback: fallback,
	})
	defer limiter.Close(context.Background())
	scope := store.Channel{Group: "alerts", Name: "alerts"}
	hourly := ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: []ratelimit.Window{{Limit: 1, Per: time.Hour}}}
	levels := []ratelimit.Level{store.ChannelLevel(hourly, "alerts")}
	for _, id := range []string{"1", "2", "3"} {
		answer, err := limiter.Admit(context.Background(), scope, []store.Request{{Request: ratelimit.Request{ID: id, Levels: levels}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.Decisions[0].Outcome, answer.Decisions[0].DecidedBy)
	}
	// Output:
	// admitted memory
	// dropped memory
	// dropped closed_cache
}
