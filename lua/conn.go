package lua

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Conn runs scripts on any topology, each at most once: it repeats a call only if the server answered that it did
// not run it. It follows MOVED and ASK, and waits while a Cluster moves the keys of a script from one node to
// another (TRYAGAIN). Create it with [NewConn].
type Conn struct {
	redis.UniversalClient
	replicated map[string]bool // scripts that wait for replicas, by SHA-1 and by source
	replicas   int64           // that must confirm an admission; 0: none
}

var _ redis.Scripter = (*Conn)(nil)

// NewConn returns a connection that runs scripts on a client. The client must not retry by itself (MaxRetries -1). If
// replicas is above 0, an admission that fewer replicas confirm fails with [ErrNotReplicated]: the master has made it,
// but a failover may lose it.
func NewConn(client redis.UniversalClient, replicas int64) *Conn {
	return &Conn{
		UniversalClient: client,
		replicas:        replicas,
		replicated:      map[string]bool{Admit.Hash(): true, sourceOf("admit"): true},
	}
}

// ErrNotReplicated is the error of an admission that too few replicas have confirmed.
var ErrNotReplicated = errors.New("too few replicas of Redis hold it")

// Eval implements [redis.Scripter].
func (c *Conn) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "eval", script, keys, args)
}

// EvalSha implements [redis.Scripter].
func (c *Conn) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "evalsha", sha, keys, args)
}

// The wait before a call that the server did not run is repeated. It starts short, because most keys arrive soon,
// and doubles up to a maximum.
const (
	minRetryWait = 2 * time.Millisecond
	maxRetryWait = 50 * time.Millisecond
)

func (c *Conn) run(ctx context.Context, verb, script string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, verb, script, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(line, args...)
	for wait := minRetryWait; ; wait = min(2*wait, maxRetryWait) {
		cmd := redis.NewCmd(ctx, line...)
		if len(keys) > 0 {
			cmd.SetFirstKeyPos(3)
		}
		err := c.once(ctx, cmd, script, keys)
		if err == nil || !isMoving(err) {
			return cmd
		}
		select {
		case <-ctx.Done():
			return cmd
		case <-time.After(wait + rand.N(wait)): //nolint:gosec // jitter is not a secret
		}
	}
}

// once sends a call one time. Only MOVED and ASK make the client send it to another node.
func (c *Conn) once(ctx context.Context, cmd *redis.Cmd, script string, keys []string) error {
	if c.replicas > 0 && c.replicated[script] {
		return c.runReplicated(ctx, cmd, keys)
	}
	err := c.Process(ctx, singleAttempt{cmd})
	cmd.SetErr(err)
	return err
}

// singleAttempt is a command that a Cluster client does not repeat after a network error.
type singleAttempt struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder].
func (singleAttempt) NoRetry() bool { return true }

// runReplicated sends a call and waits, on the same connection, until enough replicas confirm what it wrote.
func (c *Conn) runReplicated(ctx context.Context, cmd *redis.Cmd, keys []string) error {
	node, err := c.node(ctx, keys)
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	pipe := node.Pipeline()
	_ = pipe.Process(ctx, cmd)
	confirmed := pipe.Do(ctx, "wait", c.replicas, waitFor(ctx).Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := cmd.Err(); err != nil {
		if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok && isMoving(err) {
			cluster.ReloadState(ctx)
		}
		return err
	}
	if n, err := confirmed.Int64(); err != nil || n < c.replicas {
		cmd.SetErr(fmt.Errorf("%w: %d of %d: %w", ErrNotReplicated, n, c.replicas, err))
	}
	return cmd.Err()
}

// node returns the client of the master that owns the keys.
func (c *Conn) node(ctx context.Context, keys []string) (redis.UniversalClient, error) {
	cluster, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok {
		return c.UniversalClient, nil
	}
	node, err := cluster.MasterForKey(ctx, keys[0])
	if err != nil {
		return nil, fmt.Errorf("find the master: %w", err)
	}
	return node, nil
}

// waitFor returns how long replicas may take to confirm: half of the time left to the call, because Redis checks for
// the end of a WAIT only ten times a second. A call without a deadline gets 500 ms.
func waitFor(ctx context.Context) time.Duration {
	const standard = 500 * time.Millisecond
	deadline, ok := ctx.Deadline()
	if !ok {
		return standard
	}
	return max(time.Millisecond, time.Until(deadline)/2) // WAIT with 0 never ends
}

// isMoving reports whether a Cluster did not run a call because it is moving the keys, or has moved them.
func isMoving(err error) bool {
	answered, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	for _, prefix := range []string{"TRYAGAIN ", "MOVED ", "ASK "} {
		if strings.HasPrefix(answered.Error(), prefix) {
			return true
		}
	}
	return false
}
