package redis

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// indexScripter runs scripts, whose keys name the due index [lua.DueIndex]. All keys of a call must be in one slot of a
// Redis Cluster; there, the index of the limit group of the call's first key takes its place. Calls that do not name the
// index, or name one of a group, go to the Scripter itself, which has pipelines.
type indexScripter struct {
	redis.Scripter
	perGroup atomic.Bool // each limit group has its own due index
}

func newIndexScripter(scripter redis.Scripter) *indexScripter {
	s := &indexScripter{Scripter: scripter}
	client := any(scripter)
	if conn, ok := client.(*lua.Conn); ok {
		client = conn.UniversalClient
	}
	_, isCluster := client.(*redis.ClusterClient)
	s.perGroup.Store(isCluster)
	return s
}

// Eval implements [redis.Scripter].
func (s *indexScripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.inOneSlot(keys, func(keys []string) *redis.Cmd { return s.Scripter.Eval(ctx, script, keys, args...) })
}

// EvalSha implements [redis.Scripter].
func (s *indexScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.inOneSlot(keys, func(keys []string) *redis.Cmd { return s.Scripter.EvalSha(ctx, sha, keys, args...) })
}

// inOneSlot makes a call. A server that refuses it because of its slots is a Cluster, even if the client does not know: a
// single node that has all slots, or a proxy in front of several. It did not run the call.
func (s *indexScripter) inOneSlot(keys []string, call func(keys []string) *redis.Cmd) *redis.Cmd {
	if s.perGroup.Load() {
		return call(groupKeys(keys))
	}
	cmd := call(keys)
	if err := cmd.Err(); err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT") {
		return cmd
	}
	s.perGroup.Store(true)
	return call(groupKeys(keys))
}

// groupKeys returns keys with the due index of their limit group.
func groupKeys(keys []string) []string {
	i := slices.Index(keys, lua.DueIndex)
	if i <= 0 {
		return keys
	}
	keys = slices.Clone(keys)
	keys[i] = lua.DueBeside(keys[0])
	return keys
}
