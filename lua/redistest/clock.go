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
// with a read of a key, and the state of limits expires by that clock. Create it with [NewClocked].
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

// advance sets the clock to ARGV[1] seconds and ARGV[2] microseconds, and moves the expiry of each
// limit ARGV[3] milliseconds closer.
const advance = `
redis.call('HSET', KEYS[1], 's', ARGV[1], 'us', ARGV[2])
if tonumber(ARGV[3]) == 0 then return end
for _, key in ipairs(redis.call('KEYS', 'relay:*:limit:*')) do
  local left = redis.call('PTTL', key)
  local _ = left >= 0 and redis.call('PEXPIRE', key, left - ARGV[3])
end`

// Advance moves the clock forward by d, or back if d is negative.
func (c *Clocked) Advance(d time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.now
	c.now = c.now.Add(d)
	us := c.now.UnixMicro()
	ms := c.now.UnixMilli() - before.UnixMilli()
	err := c.Client.Eval(context.Background(), advance, []string{clockKey}, us/1e6, us%1e6, ms).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
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
