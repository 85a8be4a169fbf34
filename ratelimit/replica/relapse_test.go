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

// observed counts the probes of a Redis that is away, and refuses admissions while it is told to.
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

// A Redis that has room for the way back, and hardly for the next admission, is not gone back to: each admission would go
// wrong again.
func TestAFullRedisIsNotGoneBackTo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	client, log := server.Client(), &logged{}
	line := &observed{Scripter: client}
	s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
		Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyLocal}, ProbeEvery: 10 * time.Millisecond, Logger: log.logger(),
	})
	l, n := storetest.Limits{Channel: storetest.PerMinute(100_000), Category: storetest.PerMinute(100_000)}, 0
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

	require.NoError(t, client.Del(t.Context(), "edge").Err()) // the beat can be written again, and a few admissions
	before := line.probes.Load()
	require.Eventually(t, func() bool { return line.probes.Load() > before+20 || log.count("back on Redis") > 0 }, 10*time.Second, time.Millisecond)
	require.False(t, admit().Durable)
	require.Equal(t, 1, log.count("going on without Redis"))
	require.Zero(t, log.count("back on Redis"))

	require.NoError(t, client.Del(t.Context(), "large").Err())
	require.Eventually(t, func() bool { return s.Health().Up }, 10*time.Second, time.Millisecond)
	require.True(t, admit().Durable)
	ledger := storetest.Fixture{Limiter: s}.MustReport(t).Ledger
	require.Equal(t, int64(n), ledger.Admitted, "nothing is lost on the way")
	require.Zero(t, ledger.Imbalance())
}

// A Redis that takes the way back and refuses the next admission is tried less and less often; one that was away for another
// reason is tried at once.
func TestRelapses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]func(outages int) bool{
		"NOPERM this user has no permissions to run the 'xadd' command": func(n int) bool { return n <= 8 },
		"LOADING Redis is loading the dataset in memory":                func(n int) bool { return n > 8 },
	} {
		log, fault := &logged{}, lua.FaultOf(refusal(text))
		line := &observed{Scripter: redistest.Start(t).Client()}
		s := storetest.Share(t, redisstore.New(line, redisstore.Options{}), replica.Options{
			Replicas: 1, Policies: map[string]replica.Policy{storetest.Scope.Name: replica.PolicyClosed}, ProbeEvery: 20 * time.Millisecond, Logger: log.logger(),
		})
		b, l := storetest.Fixture{Limiter: s}, storetest.Limits{Channel: storetest.PerMinute(100_000), Category: storetest.PerMinute(100_000)}
		line.refuses.Store(&text)
		for until, n := time.Now().Add(time.Second), 0; time.Now().Before(until); n++ {
			_, err := s.Admit(t.Context(), storetest.Scope, []store.Request{l.Request(fmt.Sprint(n), "a")})
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.Equal(t, fault, store.FaultOf(err), "also of a call that was not made")
		}
		outages := log.count("going on without Redis")
		t.Logf("%s: %d outages in a second", text, outages)
		require.True(t, want(outages), "%s: %d", text, outages)
		line.refuses.Store(nil)
		require.Eventually(t, func() bool { return s.Health().Up }, 10*time.Second, time.Millisecond)
		require.True(t, b.AdmitOne(t, l.Request("after", "a")).Durable)
	}
}
