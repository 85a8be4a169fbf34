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

// Conn runs scripts on any topology so that each runs at most once: only what the server said it did not carry
// out is sent again. It follows MOVED and ASK, and waits while the keys of a script are on their way from one
// node of a Cluster to another (TRYAGAIN).
type Conn struct {
	redis.UniversalClient
	waits    map[string]bool
	replicas int64
}

var _ redis.Scripter = (*Conn)(nil)

// NewConn runs scripts on a client, which must not retry by itself (MaxRetries -1). Where replicas is above 0,
// an admission is an error unless so many replicas hold it: it may have been carried out, and be lost.
func NewConn(client redis.UniversalClient, replicas int64) *Conn {
	return &Conn{UniversalClient: client, replicas: replicas, waits: map[string]bool{Admit.Hash(): true, admitSource: true}}
}

// ErrNotReplicated is an admission that too few replicas hold.
var ErrNotReplicated = errors.New("too few replicas of Redis hold it")

// Eval implements [redis.Scripter].
func (c *Conn) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "eval", script, keys, args)
}

// EvalSha implements [redis.Scripter].
func (c *Conn) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "evalsha", sha, keys, args)
}

// How long to wait before a call that was not carried out is sent again: keys on their way arrive soon.
const (
	againAfter = 2 * time.Millisecond
	againMost  = 50 * time.Millisecond
)

func (c *Conn) run(ctx context.Context, verb, script string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 3, 3+len(keys)+len(args))
	line[0], line[1], line[2] = verb, script, len(keys)
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(line, args...)
	for pause := againAfter; ; pause = min(2*pause, againMost) {
		cmd := redis.NewCmd(ctx, line...)
		if len(keys) > 0 {
			cmd.SetFirstKeyPos(3)
		}
		err := c.once(ctx, cmd, script, keys)
		if err == nil || !onItsWay(err) {
			return cmd
		}
		select {
		case <-ctx.Done():
			return cmd
		case <-time.After(pause + rand.N(pause)): //nolint:gosec // jitter is no secret
		}
	}
}

// once sends a call one time, but for MOVED and ASK.
func (c *Conn) once(ctx context.Context, cmd *redis.Cmd, script string, keys []string) error {
	if c.replicas > 0 && c.waits[script] {
		return c.replicated(ctx, cmd, keys)
	}
	err := c.Process(ctx, unrepeated{cmd})
	cmd.SetErr(err)
	return err
}

// unrepeated is a command that a Cluster client does not send again after an error of the network.
type unrepeated struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder].
func (unrepeated) NoRetry() bool { return true }

// replicated sends a call and waits, on the same connection, until replicas hold what it wrote.
func (c *Conn) replicated(ctx context.Context, cmd *redis.Cmd, keys []string) error {
	node, err := c.node(ctx, keys)
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	pipe := node.Pipeline()
	_ = pipe.Process(ctx, cmd)
	held := pipe.Do(ctx, "wait", c.replicas, waitFor(ctx).Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := cmd.Err(); err != nil {
		if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok && onItsWay(err) {
			cluster.ReloadState(ctx)
		}
		return err
	}
	if n, err := held.Int64(); err != nil || n < c.replicas {
		cmd.SetErr(fmt.Errorf("%w: %d of %d: %w", ErrNotReplicated, n, c.replicas, err))
	}
	return cmd.Err()
}

// node is the client of the master that has the keys.
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

// waitFor is how long replicas may take: half of what is left of the call's time, because Redis looks for the end
// of a wait ten times a second only.
func waitFor(ctx context.Context) time.Duration {
	const standard = 500 * time.Millisecond
	deadline, ok := ctx.Deadline()
	if !ok {
		return standard
	}
	return max(time.Millisecond, time.Until(deadline)/2) // 0 would wait for ever
}

// onItsWay tells whether a Cluster did not carry a call out because its keys are moving, or have moved.
func onItsWay(err error) bool {
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
