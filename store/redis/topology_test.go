package redis_test

import (
	"context"
	"fmt"
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

// universal connects as the relay does.
func universal(tb testing.TB, opts redis.UniversalOptions) redis.UniversalClient {
	tb.Helper()
	opts.MaxRetries, opts.DialerRetries, opts.ContextTimeoutEnabled = -1, 1, true
	opts.DialTimeout, opts.ReadTimeout = 500*time.Millisecond, 2*time.Second
	client := redis.NewUniversalClient(&opts)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// load admits from several goroutines, with ids that are tried again as a sender would, until it is stopped.
type load struct {
	limiter storetest.Limiter
	limits  storetest.Limits
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu       sync.Mutex
	admitted map[string]bool // acknowledged
	failed   int
	failure  error     // the last
	last     time.Time // when something was decided last
	longest  time.Duration
}

func startLoad(ctx context.Context, l storetest.Limiter, lim storetest.Limits) *load {
	ctx, cancel := context.WithCancel(ctx)
	load := &load{limiter: l, limits: lim, stop: cancel, admitted: map[string]bool{}, last: time.Now()}
	for g := range 8 {
		load.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				for ctx.Err() == nil && !load.once(ctx, id) {
					<-time.After(time.Millisecond)
				}
			}
		})
	}
	return load
}

// once asks one time and tells whether there was an answer.
func (l *load) once(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	answer, err := l.limiter.Admit(ctx, storetest.Scope, []store.Request{l.limits.Request(id, "a")})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed, l.failure = l.failed+1, err
		return false
	}
	if pause := time.Since(l.last); pause > l.longest {
		l.longest = pause
	}
	l.last = time.Now()
	if o := answer.Decisions[0].Outcome; o == store.Admitted || o == store.Duplicate {
		l.admitted[id] = true
	}
	return true
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.admitted)
}

// await waits until so many were admitted.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for l.count() < n {
		if time.Now().After(deadline) {
			l.mu.Lock()
			defer l.mu.Unlock()
			require.Failf(t, "stuck", "%d of %d admitted, %d calls failed, the last with %v", len(l.admitted), n, l.failed, l.failure)
		}
		<-time.After(time.Millisecond)
	}
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// queued are the ids in the outbox, which requests carry as their payload.
func queued(t *testing.T, client redis.UniversalClient) map[string]int {
	t.Helper()
	entries, err := client.HGetAll(t.Context(), "relay:{alerts}:entries:alerts").Result()
	require.NoError(t, err)
	ids := map[string]int{}
	for number, entry := range entries {
		var at int64
		var kind, id string
		if number == "seq" {
			continue
		}
		_, err := fmt.Sscanf(entry, `%d %s {"id":%q}`, &at, &kind, &id)
		require.NoError(t, err, entry)
		ids[id]++
	}
	return ids
}

func TestReshardingUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	for waits := range int64(2) {
		t.Run(fmt.Sprint("wait_replicas_", waits), func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, int(waits))
			client := universal(t, redis.UniversalOptions{Addrs: cluster.Addrs(), IsClusterMode: true})
			const limit = 3000
			window := ratelimit.Window{Limit: limit, Per: time.Hour}
			conn := lua.NewConn(client, waits)
			load := startLoad(t.Context(), redisstore.New(conn, redisstore.Options{}), storetest.Limits{Channel: window, Category: window})
			defer load.end()
			key := "relay:{alerts}:seen:alerts"
			var moving time.Duration
			for moves := range 6 {
				load.await(t, 50*(moves+1))
				from, _ := cluster.Owner(key)
				to := cluster.Nodes[0]
				if from == to {
					to = cluster.Nodes[1]
				}
				begin := time.Now()
				cluster.Move(key, to)
				moving += time.Since(begin)
			}
			load.await(t, limit)
			load.end()
			ids := queued(t, client)
			t.Logf("6 moves took %s; %d calls failed, the longest pause between two answers was %s", moving, load.failed, load.longest)
			require.Len(t, ids, limit, "nothing over the limit, nothing lost")
			for id, n := range ids {
				require.Equal(t, 1, n, "%s is queued once", id)
				require.True(t, load.admitted[id])
			}
			report, err := redisstore.New(conn, redisstore.Options{}).Report(t.Context(), storetest.Scope)
			require.NoError(t, err)
			require.Zero(t, report.Ledger.Imbalance())
		})
	}
}

// A master dies while its replicas lag. Without waiting for replicas, what only the master knew is lost, and
// may be admitted again; with it, nothing that was acknowledged is.
func TestFailoverUnderLoadKeepsTheLimit(t *testing.T) {
	t.Parallel()
	for waits := range int64(2) {
		t.Run(fmt.Sprint("wait_replicas_", waits), func(t *testing.T) {
			t.Parallel()
			sentinels := redistest.StartSentinels(t)
			client := universal(t, redis.UniversalOptions{Addrs: sentinels.Addrs, MasterName: sentinels.Name})
			const limit = 400
			window := ratelimit.Window{Limit: limit, Per: time.Hour}
			s := storetest.Share(t, redisstore.New(lua.NewConn(client, waits), redisstore.Options{}), replica.Options{
				CallTimeout: 300 * time.Millisecond, ProbeEvery: 50 * time.Millisecond,
			})
			load := startLoad(t.Context(), s, storetest.Limits{Channel: window, Category: window})
			defer load.end()
			require.Eventually(t, func() bool { return load.count() > 50 }, 30*time.Second, time.Millisecond)
			sentinels.CutReplication(t)
			lagging := load.count()
			if waits == 0 {
				require.Eventually(t, func() bool { return load.count() > lagging+20 }, 30*time.Second, time.Millisecond)
			}
			killed := time.Now()
			sentinels.Master.Kill()
			sentinels.Restore()
			master := sentinels.NewMaster(t)
			elected := time.Since(killed)
			require.Eventually(t, func() bool {
				used, err := store.UsageOf(t.Context(), s, storetest.Scope, []ratelimit.Level{storetest.ChannelLevel("alerts", window)})
				return err == nil && used[0].Used == limit
			}, 60*time.Second, 5*time.Millisecond)
			if waits > 0 { // a call that was told 503 is repeated until it is a duplicate
				load.await(t, limit)
			}
			load.end()
			ids := queued(t, master.Client())
			lost := 0
			for id := range load.admitted {
				if ids[id] == 0 {
					lost++
				}
			}
			t.Logf("elected after %s; %d admitted before the replicas lagged; %d acknowledged in all, %d of them lost, "+
				"so %d over the limit; %d calls failed, the longest pause was %s",
				elected, lagging, len(load.admitted), lost, max(0, len(load.admitted)-limit), load.failed, load.longest)
			require.LessOrEqual(t, len(ids), limit, "the new master never exceeds the limit by what it knows")
			require.LessOrEqual(t, len(load.admitted), limit+lost, "what is over the limit is what the old master took with it")
			if waits == 0 {
				require.Positive(t, lost, "the test does lose something where nobody waits")
			} else {
				require.Zero(t, lost)
				require.Len(t, load.admitted, limit)
			}
		})
	}
}

// A script whose keys are in two slots is refused; every script of ours keeps to one.
func TestEveryScriptOfTheLimiterKeepsToOneSlot(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 0)
	conn := lua.NewConn(universal(t, redis.UniversalOptions{Addrs: cluster.Addrs(), IsClusterMode: true}), 0)
	s := storetest.Share(t, redisstore.New(conn, redisstore.Options{}), replica.Options{})
	b := storetest.Fixture{Limiter: s}
	fair := storetest.Small.Request("1", "a")
	fair.Fairness = &ratelimit.Fairness{
		FirstNotice: ratelimit.FirstNotice{Auto: true},
		Reserves:    []ratelimit.Reserve{{Category: "b", Slots: 1, Level: storetest.Small.Request("", "b").Levels[1]}},
	}
	require.Equal(t, "+", storetest.Outcomes(b.MustAdmit(t, fair)))
	require.NoError(t, s.Refund(t.Context(), storetest.Scope, fair))
	require.NoError(t, s.Reset(t.Context(), storetest.Scope, fair.Levels...))
	for i := range 5 {
		b.AdmitOne(t, storetest.Small.Request(fmt.Sprint("x", i), "a"))
	}
	require.NoError(t, s.Flush(t.Context()))
	_, err := s.Categories(t.Context(), storetest.Scope)
	require.NoError(t, err)
	b.MustReport(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx)
	require.NoError(t, s.Ping(t.Context()))
}

// Too few replicas hold it: the caller is told that nobody knows, and its repeat is a duplicate.
func TestTooFewReplicasAreUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	conn := lua.NewConn(server.Client(), 1)
	b := storetest.Fixture{Limiter: redisstore.New(conn, redisstore.Options{})}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := b.Admit(ctx, storetest.Scope, []store.Request{storetest.Small.Request("1", "a")})
		cancel()
		require.ErrorIs(t, err, ratelimit.ErrUnavailable)
		require.ErrorIs(t, err, lua.ErrNotReplicated)
	}
	require.Equal(t, store.Ledger{Received: 2, Admitted: 1, Duplicate: 1, Pending: 1}, b.MustReport(t).Ledger)
}
