package storetest

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua/redistest"
)

// DeafClient reaches the server but, once deaf is set, gets no replies: the call is committed, and the caller cannot know.
func DeafClient(t *testing.T, server *redistest.Server, deaf *atomic.Bool) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 200 * time.Millisecond,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return deafConn{conn, deaf}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.deaf.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// Away is a connection that fails each call before it is sent, while Away is set.
type Away struct {
	redis.Scripter
	Away atomic.Bool
}

func (a *Away) refuse(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(&net.OpError{Op: "dial", Err: errors.New("connection refused")})
	return cmd
}

// EvalSha implements [redis.Scripter].
func (a *Away) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if a.Away.Load() {
		return a.refuse(ctx)
	}
	return a.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Counting counts the calls of each script.
type Counting struct {
	redis.Scripter
	Mu    sync.Mutex
	calls map[string]int
	Block chan struct{} // while it is set, a call waits until it is closed
	Held  chan struct{} // receives each call that waits
}

// EvalSha implements [redis.Scripter].
func (c *Counting) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.Mu.Lock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[sha]++
	block, held := c.Block, c.Held
	c.Mu.Unlock()
	if block != nil {
		held <- struct{}{}
		<-block
	}
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Of is how often a script was called.
func (c *Counting) Of(script *redis.Script) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.calls[script.Hash()]
}

// Total is how many calls there were.
func (c *Counting) Total() (n int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, calls := range c.calls {
		n += calls
	}
	return n
}
