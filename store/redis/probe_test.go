package redis_test

import (
	"context"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
	"slackrelay/ratelimit/replica"
	redisstore "slackrelay/store/redis"
	"slackrelay/store/storetest"
)

func TestProbeReportsWhatIsUnsuitable(t *testing.T) {
	t.Parallel()
	warnings, err := redisstore.Probe(t.Context(), redistest.Start(t, "--appendonly", "yes").Client())
	require.NoError(t, err)
	require.Empty(t, warnings)

	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	warnings, err = redisstore.Probe(t.Context(), server.Client())
	require.NoError(t, err)
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[0], "maxmemory-policy is allkeys-lru")
	require.Contains(t, warnings[1], "neither an append-only file nor a replica")
	require.Empty(t, server.Client().Keys(t.Context(), "*").Val(), "nothing is left behind")

	host, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	_, err = redisstore.Probe(t.Context(), replica.Client())
	require.ErrorIs(t, err, redisstore.ErrUnsuitable)
	require.ErrorContains(t, err, "it is a replica")

	_, err = redisstore.Probe(t.Context(), redistest.Reserve(t).Client())
	require.Error(t, err)
	require.NotErrorIs(t, err, redisstore.ErrUnsuitable, "it may come yet")
}

// leastRights are the rights of docs/redis.md.
func leastRights(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^ACL SETUSER relay (.*)$`).FindStringSubmatch(strings.ReplaceAll(string(text), "\\\n", " "))
	require.NotNil(t, line)
	return strings.Fields(line[1])
}

func withRights(t *testing.T, server *redistest.Server, rights []string) *redis.Client {
	t.Helper()
	args := []any{"acl", "setuser", "relay", "reset"}
	for _, right := range rights {
		args = append(args, right)
	}
	require.NoError(t, server.Client().Do(t.Context(), args...).Err())
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, Username: "relay", Password: "choose-one", MaxRetries: -1, DisableIdentity: true, Protocol: 2,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The documented rights are enough for everything, and the probe notices each that is missing.
func TestDocumentedRightsAreEnoughAndNeeded(t *testing.T) {
	t.Parallel()
	rights, server := leastRights(t), redistest.Start(t, "--appendonly", "yes")
	client := withRights(t, server, rights)
	warnings, err := redisstore.Probe(t.Context(), client)
	require.NoError(t, err)
	require.Empty(t, warnings)
	s := storetest.Share(t, redisstore.New(lua.NewConn(client, 0), redisstore.Options{}), replica.Options{})
	b := storetest.Fixture{Limiter: s}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s.Run(ctx)
	require.Equal(t, "+++-", storetest.Outcomes(b.MustAdmit(t, storetest.Small.Request("1", "a"), storetest.Small.Request("2", "a"),
		storetest.Small.Request("3", "a"), storetest.Small.Request("4", "a"))))
	b.AdmitOne(t, storetest.Small.Request("5", "a"))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Refund(t.Context(), storetest.Scope, storetest.Small.Request("1", "a")))
	require.NoError(t, s.Reset(t.Context(), storetest.Scope, storetest.Small.Request("", "a").Levels...))
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, int64(5), b.MustReport(t).Ledger.Received)
	require.Error(t, client.Get(t.Context(), "another:key").Err(), "no other key")
	require.Error(t, client.FlushAll(t.Context()).Err(), "no other command")
	for i, right := range rights {
		switch right {
		case "+wait", "+eval", "+evalsha", "+cluster|slots", "+command", "+ping":
			continue // what depends on the topology, or has another in its place
		}
		if !strings.HasPrefix(right, "+") {
			continue
		}
		fewer := append(append([]string{}, rights[:i]...), rights[i+1:]...)
		_, err := redisstore.Probe(t.Context(), withRights(t, server, fewer))
		require.Error(t, err, "without %s", right)
	}
}
