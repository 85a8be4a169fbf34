package redis_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit"
	"slackrelay/ratelimit/replica"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

const (
	processes  = 8
	goroutines = 32
	// workerVariable tells a process of this test's binary that it is a worker: address, replica, seconds.
	workerVariable = "RATELIMIT_TEST_WORKER"
)

// rolling is a window that fills many times while the test runs.
var rolling = storetest.Limits{
	Channel:  ratelimit.Window{Limit: 40, Per: 500 * time.Millisecond},
	Category: ratelimit.Window{Limit: 15, Per: 500 * time.Millisecond},
}

// Several processes with many goroutines each hammer one Redis: in every window the admitted never exceed the
// limit, and mostly equal it, because more is always wanted.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	run := 2 * time.Second
	if os.Getenv("SOAK_DECISIONS") != "" { //nolint:forbidigo // how long to test is no configuration of the product
		run = 10 * time.Second
	}
	server := redistest.Start(t)
	var workers sync.WaitGroup
	for p := range processes {
		worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWorker$")
		worker.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", workerVariable, server.Addr, p, run))
		workers.Go(func() {
			out, err := worker.CombinedOutput()
			if err != nil {
				t.Errorf("worker %d: %v\n%s", p, err, out)
			}
		})
	}
	workers.Wait()
	at := admissions(t, server.Client())
	checkWindows(t, at, rolling)
	ledger := storetest.Fixture{Limiter: redisstore.New(server.Client(), redisstore.Options{})}.MustReport(t).Ledger
	require.Equal(t, int64(len(at)), ledger.Admitted)
	require.Zero(t, ledger.Imbalance())
	t.Logf("%d x %d goroutines for %s: %d events, %d admitted", processes, goroutines, run, ledger.Received, ledger.Admitted)
}

// TestWorker is one process of TestManyProcesses.
func TestWorker(t *testing.T) {
	t.Parallel()
	task := strings.Fields(os.Getenv(workerVariable)) //nolint:forbidigo // this is how the test tells its workers
	if len(task) != 3 {
		return
	}
	run, err := time.ParseDuration(task[2])
	require.NoError(t, err)
	client := redis.NewClient(&redis.Options{Addr: task[0], MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: goroutines})
	defer client.Close()
	var l storetest.Limiter = redisstore.New(lua.NewConn(client, 0), redisstore.Options{})
	if p, _ := strconv.Atoi(task[1]); p%2 == 0 { // half of them with the cache, half without
		l = storetest.Share(t, l, replica.Options{Replica: task[1]})
	}
	ctx, cancel := context.WithTimeout(t.Context(), run)
	defer cancel()
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, err := l.Admit(context.WithoutCancel(ctx), storetest.Scope, []store.Request{
					rolling.Request(fmt.Sprintf("%s-%d-%d", task[1], g, i), fmt.Sprint("c", (g+i)%5)),
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// admissions are the times of everything in the outbox, sorted, in microseconds.
func admissions(t *testing.T, client *redis.Client) []int64 {
	t.Helper()
	entries, err := client.HGetAll(t.Context(), "relay:{alerts}:entries:alerts").Result()
	require.NoError(t, err)
	var all []int64
	for number, entry := range entries {
		if number == "seq" {
			continue
		}
		text, _, _ := strings.Cut(entry, " ")
		at, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}

// checkWindows looks at every window that ends with an admission.
func checkWindows(t *testing.T, at []int64, l storetest.Limits) {
	t.Helper()
	limit, per := int(l.Channel.Limit), l.Channel.Per.Microseconds()
	full := 0
	for i := range at {
		if i < limit {
			continue
		}
		gap := at[i] - at[i-limit]
		require.GreaterOrEqual(t, gap, per, "%d and one more within a window", limit)
		if gap < per+per/5 { // the slot was taken soon after it became free
			full++
		}
	}
	require.Greater(t, full, (len(at)-limit)/2, "most windows are used up, also on a busy machine")
}
