package redistest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const clockKey = "redistest:clock"

// Clocked runs scripts on a real server, but by a clock that the test sets: it replaces the call of TIME in the source
// with a read of a key. Create it with [NewClocked].
type Clocked struct {
	*redis.Client
	t   testing.TB
	mu  sync.Mutex
	now time.Time
}

// NewClocked wraps a client. The clock stands still at now until [Clocked.Advance] moves it.
func NewClocked(tb testing.TB, client *redis.Client, now time.Time) *Clocked {
	tb.Helper()
	c := &Clocked{Client: client, t: tb, now: now}
	c.Advance(0)
	return c
}

// Now returns the time that the scripts see.
func (c *Clocked) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward by d.
func (c *Clocked) Advance(d time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	us := c.now.UnixMicro()
	if err := c.HSet(context.Background(), clockKey, "s", us/1e6, "us", us%1e6).Err(); err != nil {
		c.t.Fatalf("set the test clock: %v", err)
	}
}

// Eval implements [redis.Scripter].
func (c *Clocked) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	clocked := strings.ReplaceAll(script, "redis.call('TIME')", "redis.call('HMGET', '"+clockKey+"', 's', 'us')")
	return c.Client.Eval(ctx, clocked, keys, args...)
}

// EvalSha implements [redis.Scripter]. It always fails with NOSCRIPT, so that the client calls Eval, which needs the source.
func (c *Clocked) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(errNoScript)
	return cmd
}

var errNoScript error = noScriptError{errors.New("NOSCRIPT the test clock needs the source")}

// noScriptError is an error that go-redis treats as a reply of the server.
type noScriptError struct{ error }

// RedisError marks it as such a reply.
func (noScriptError) RedisError() {}
