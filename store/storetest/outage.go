package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// away wraps a client that cannot be reached while away is set: each call fails before it is sent.
type Away struct {
	redis.Scripter
	Away atomic.Bool
}

func (a *Away) refuse(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(&net.OpError{Op: "dial", Err: errors.New("connection refused")})
	return cmd
}

func (a *Away) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if a.Away.Load() {
		return a.refuse(ctx)
	}
	return a.Scripter.EvalSha(ctx, sha, keys, args...)
}

// replicasOn makes replicas that share one server, each with a line that can be cut.
func ReplicasOn(t *testing.T, n int, policy replica.Policy) (client *redis.Client, lines []*Away, all []Fixture) {
	t.Helper()
	client = redistest.Start(t).Client()
	for i := range n {
		line := &Away{Scripter: client}
		s := Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
			Replica: fmt.Sprint("replica-", i), Replicas: n, Policies: map[string]replica.Policy{Scope.Name: policy},
			ProbeEvery: 20 * time.Millisecond,
		})
		lines, all = append(lines, line), append(all, Fixture{Limiter: s})
	}
	return client, lines, all
}

func (b Fixture) Admitted(t *testing.T, l Limits, prefix string, n int) (admitted int) {
	t.Helper()
	for i := range n {
		if b.AdmitOne(t, l.Request(fmt.Sprint(prefix, i), "a")).Outcome == store.Admitted {
			admitted++
		}
	}
	return admitted
}
