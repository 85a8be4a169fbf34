package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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

// logged keeps a log in memory.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// observed counts heartbeats, and refuses admissions while refuses is set.
type observed struct {
	redis.Scripter
	probes  atomic.Int64
	refuses atomic.Pointer[string]
}

func (o *observed) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == lua.Heartbeat.Hash() {
		o.probes.Add(1)
	}
	if text := o.refuses.Load(); text != nil && sha == lua.Admit.Hash() {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(refusal(*text))
		return cmd
	}
	return o.Scripter.EvalSha(ctx, sha, keys, args...)
}

// refusal is an error reply of a server.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) RedisError() {}

// A channel does not return to a Redis that has memory for the recovery and hardly for more: each admission would fail again.
func TestChannelDoesNotReturnToARedisThatIsNearlyFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	client := server.Client()
	log := &logged{}
	line := &observed{Scripter: client}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal},
		ProbeEvery: 10 * time.Millisecond, Logger: log.logger(),
	})
	l := storetest.Limits{Channel: storetest.PerMinute(100_000), Category: storetest.PerMinute(100_000)}
	n := 0
	admit := func() store.Decision {
		n++
		r := l.Request(fmt.Sprint(n), "a")
		r.Enqueue.Payload = []byte(`{"text":"` + strings.Repeat("x", 8<<10) + `"}`)
		return storetest.Fixture{Limiter: s}.AdmitOne(t, r)
	}
	require.True(t, admit().Durable)
	filler := func(key string, bytes int) {
		require.NoError(t, client.Set(t.Context(), key, strings.Repeat("x", bytes), 0).Err())
	}
	filler("large", 8<<20)
	filler("edge", 128<<10)
	used, err := lua.Memory.Run(t.Context(), client, []string{"relay:{a}"}).Int64Slice()
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(used[0]+256<<10)).Err())
	for admit().Durable { // until it is full
		require.Less(t, n, 1000)
	}
	health := s.Health()
	require.False(t, health.Up)
	require.Equal(t, "Redis refuses writes: out of memory (maxmemory); raise maxmemory, or delete other data", health.Away[0].Why)

	require.NoError(t, client.Del(t.Context(), "edge").Err()) // heartbeats can be written again, and a few admissions
	before := line.probes.Load()
	probed := func() bool { return line.probes.Load() > before+20 || log.count("back on Redis") > 0 }
	require.Eventually(t, probed, 10*time.Second, time.Millisecond)
	require.False(t, admit().Durable)
	require.Equal(t, 1, log.count("going on without Redis"))
	require.Zero(t, log.count("back on Redis"))

	require.NoError(t, client.Del(t.Context(), "large").Err())
	awaitUp(t, s)
	require.True(t, admit().Durable)
	ledger := storetest.Fixture{Limiter: s}.MustReport(t).Ledger
	require.Equal(t, int64(n), ledger.Admitted, "nothing is lost on the way")
	require.Zero(t, ledger.Imbalance())
}

// A Redis that takes the recovery and refuses the next admission is tried less and less often; one that was unavailable for
// another reason is tried at once.
func TestRedisThatRefusesAgainIsProbedLessOften(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refusal string
		want    func(outages int) bool
	}{
		"of a right": {"NOPERM this user has no permissions to run the 'xadd' command", func(n int) bool { return n <= 8 }},
		"to start":   {"LOADING Redis is loading the dataset in memory", func(n int) bool { return n > 8 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outages := outagesInASecond(t, row.refusal)
			require.True(t, row.want(outages), "%d outages in a second", outages)
		})
	}
}

// outagesInASecond returns how often a channel goes down whose Redis refuses every admission and takes everything else.
func outagesInASecond(t *testing.T, text string) int {
	t.Helper()
	log := &logged{}
	line := &observed{Scripter: redistest.Start(t).Client()}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyClosed},
		ProbeEvery: 20 * time.Millisecond, Logger: log.logger(),
	})
	l := storetest.Limits{Channel: storetest.PerMinute(100_000), Category: storetest.PerMinute(100_000)}
	line.refuses.Store(&text)
	fault := lua.FaultOf(refusal(text))
	for until, n := time.Now().Add(time.Second), 0; time.Now().Before(until); n++ {
		_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Request(fmt.Sprint(n), "a")})
		require.ErrorIs(t, err, ratelimit.ErrUnavailable)
		require.Equal(t, fault, store.FaultOf(err), "also for a call that was not made")
	}
	outages := log.count("going on without Redis")
	line.refuses.Store(nil)
	awaitUp(t, s)
	require.True(t, storetest.Fixture{Limiter: s}.AdmitOne(t, l.Request("after", "a")).Durable)
	return outages
}
