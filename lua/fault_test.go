package lua_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

// answer is an error reply of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestFaultOf(t *testing.T) {
	t.Parallel()
	for want, texts := range map[lua.Fault][]string{
		lua.FaultMemory: {
			"OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:12.",
			"ERR Error running script (call to f_0a): @user_script:12: OOM command not allowed when used memory > 'maxmemory'.",
			"ERR Error running script (call to f_0a): @user_script: 12: -OOM command not allowed when used memory > 'maxmemory'.",
		},
		lua.FaultDisk: {
			"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
			"MISCONF Errors writing to the AOF file: No space left on device",
		},
		lua.FaultReadOnly: {
			"READONLY You can't write against a read only replica.",
		},
		lua.FaultWrongType: {
			"WRONGTYPE Operation against a key holding the wrong kind of value script: 1f, on @user_script:1.",
			"WRONGTYPE key relay:{alerts}:ledger:alerts holds string",
			"ERR Error running script (call to f_0a): @user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value",
		},
		lua.FaultPermission: {
			"NOPERM this user has no permissions to run the 'evalsha' command",
			"ERR The user executing the script can't run this command or subcommand script: 1f, on @user_script:12.",
		},
		lua.FaultAuth: {
			"ERR Protocol error: unauthenticated multibulk length",
			"WRONGPASS invalid username-password pair or user is disabled.",
			"NOAUTH Authentication required.",
			"ERR AUTH <password> called without any password configured for the default user.",
		},
		lua.FaultProtected: {
			"DENIED Redis is running in protected mode because protected mode is enabled",
		},
		lua.FaultDatabase: {
			"ERR DB index is out of range",
			"ERR SELECT is not allowed in cluster mode",
		},
		lua.FaultNoCluster: {
			"ERR This instance has cluster support disabled",
		},
		lua.FaultMoved: {
			"MOVED 866 127.0.0.1:7002",
		},
		lua.FaultClusterDown: {
			"CLUSTERDOWN The cluster is down",
			"TRYAGAIN Multiple keys request during rehashing of slot",
		},
		lua.FaultLoading: {
			"LOADING Redis is loading the dataset in memory",
		},
		lua.FaultMasterDown: {
			"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		},
		lua.FaultReplicas: {
			"NOREPLICAS Not enough good replicas to write.",
		},
		lua.FaultBusy: {
			"BUSY Redis is busy running a script.",
		},
		lua.FaultClients: {
			"ERR max number of clients reached",
		},
		lua.FaultOther: {
			"ERR something else",
		},
		"": {
			"NOSCRIPT No matching script. Please use EVAL.",
			"ARG a wait of 0 or more and a reason are needed",
		},
	} {
		for _, text := range texts {
			require.Equal(t, want, lua.FaultOf(fmt.Errorf("admit: %w", answer(text))), text)
		}
	}
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for want, all := range map[lua.Fault][]error{
		lua.FaultUnreachable: {
			dial, io.EOF, net.ErrClosed, &net.DNSError{Name: "redis", IsNotFound: true}, errors.New("redis: cluster has no nodes"),
		},
		lua.FaultTimeout: {context.DeadlineExceeded, os.ErrDeadlineExceeded, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
		lua.FaultPool:    {redis.ErrPoolTimeout},
		lua.FaultTLS: {
			x509.UnknownAuthorityError{},
			x509.HostnameError{Certificate: &x509.Certificate{}},
			tls.AlertError(116),
			tls.RecordHeaderError{},
		},
		lua.FaultReplicas: {lua.ErrNotReplicated},
		"":                {nil, context.Canceled, redis.Nil, redis.ErrClosed, errors.New("another")},
	} {
		for _, err := range all {
			require.Equal(t, want, lua.FaultOf(err), "%v", err)
		}
	}
	require.True(t, lua.NotSent(x509.UnknownAuthorityError{}), "nothing was sent over a connection that was not made")
	require.False(t, lua.NotSent(tls.AlertError(20)), "a connection that broke may have carried the call")
}

// The description and the remedy of a fault contain nothing that a server or a sender wrote.
func TestEveryFaultHasItsOwnDescriptionAndARemedy(t *testing.T) {
	t.Parallel()
	described := map[string]lua.Fault{}
	operating, err := os.ReadFile("../docs/operating.md")
	require.NoError(t, err)
	for _, fault := range lua.Faults() {
		require.NotEmpty(t, fault.String(), string(fault))
		require.NotEmpty(t, fault.Remedy(), string(fault))
		require.Contains(t, string(operating), "`"+string(fault)+"`", "operators find it")
		require.NotContains(t, described, fault.String())
		described[fault.String()] = fault
		require.Equal(t, fault == lua.FaultUnreachable, strings.Contains(fault.String(), "cannot be reached"), "what answers is reached")
	}
	require.Equal(t, "Redis refuses writes: out of memory (maxmemory); raise maxmemory, or delete other data",
		lua.Describe(answer("OOM command not allowed, s3cret")))
	require.Contains(t, lua.Describe(answer("WRONGTYPE key relay:{alerts}:ledger:alerts holds string")), "relay:{alerts}:ledger:alerts;")
	require.Contains(t, lua.Describe(answer("WRONGTYPE key relay:{a}:limit:gcra:category:alerts:what-a-sender-wrote holds string")),
		"relay:{a}:limit:gcra:category:alerts:…;")
	wrongType := fmt.Errorf("the key relay:{a}:seen:a holds a string where the relay keeps a zset; nothing was written: %w",
		answer("WRONGTYPE x"))
	require.Contains(t, lua.Describe(wrongType), ", relay:{a}:seen:a;")
	require.Empty(t, lua.Describe(errors.New("another")))
}

// The calls that set up a connection are not counted.
func TestWatchReportsEachFailedCallOnce(t *testing.T) {
	t.Parallel()
	watched := func(client redis.UniversalClient) func() map[lua.Fault]int {
		t.Cleanup(func() { _ = client.Close() })
		var mu sync.Mutex
		seen := map[lua.Fault]int{}
		lua.Watch(client, func(fault lua.Fault) {
			mu.Lock()
			defer mu.Unlock()
			seen[fault]++
		})
		return func() map[lua.Fault]int {
			mu.Lock()
			defer mu.Unlock()
			return seen
		}
	}
	server := redistest.Start(t, "--requirepass", "pw")
	options := func(password string) *redis.Options {
		return &redis.Options{Addr: server.Addr, Password: password, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Protocol: 2}
	}
	wrong := redis.NewClient(options("wrong"))
	seen := watched(wrong)
	require.Error(t, wrong.Get(t.Context(), "a").Err())
	require.Equal(t, map[lua.Fault]int{lua.FaultAuth: 1}, seen())
	right := redis.NewClient(options("pw"))
	seen = watched(right)
	require.ErrorIs(t, right.Get(t.Context(), "a").Err(), redis.Nil)
	require.Error(t, right.EvalSha(t.Context(), "00", nil).Err())
	require.NoError(t, right.Set(t.Context(), "a", "text", 0).Err())
	require.Empty(t, seen())
	require.Error(t, right.HGetAll(t.Context(), "a").Err())
	_, err := right.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.HGetAll(t.Context(), "a")
		pipe.HGetAll(t.Context(), "a")
		return nil
	})
	require.Error(t, err)
	require.Equal(t, map[lua.Fault]int{lua.FaultWrongType: 2}, seen(), "a pipeline is one call")
	server.Kill()
	require.Error(t, right.Get(t.Context(), "a").Err())
	require.Equal(t, 1, seen()[lua.FaultUnreachable])

	node := redistest.StartClusterNode(t)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Addr}, MaxRetries: -1})
	seen = watched(cluster)
	require.NoError(t, cluster.Set(t.Context(), "a", "text", 0).Err())
	require.Error(t, cluster.HGetAll(t.Context(), "a").Err())
	require.Equal(t, map[lua.Fault]int{lua.FaultWrongType: 1}, seen())
}

func TestMemoryReturnsTheUsedMemoryAndItsLimit(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	read := func() []int64 {
		reply, err := lua.Memory.Run(t.Context(), client, []string{"relay:{a}:ledger:a"}).Int64Slice()
		require.NoError(t, err)
		require.Len(t, reply, 2)
		return reply
	}
	before := read()
	require.Greater(t, before[0], int64(100_000))
	require.Zero(t, before[1])
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "100mb").Err())
	require.NoError(t, client.Set(t.Context(), "big", strings.Repeat("x", 1<<20), time.Minute).Err())
	after := read()
	require.GreaterOrEqual(t, after[0], before[0]+1<<20)
	require.Equal(t, int64(100<<20), after[1])
}
