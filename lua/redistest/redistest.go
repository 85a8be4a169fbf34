// Package redistest starts real redis-server processes on free ports for tests, and stops them when the tests end.
//
// If redis-server is not installed, the test fails; it is never skipped.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const startWithin = time.Minute

// Server is a redis-server process. Create it with [Start], or with [Reserve] and [Server.Up].
type Server struct {
	Addr string // host:port
	URL  string // redis://host:port

	t      testing.TB
	dir    string
	config string // file that a Sentinel can write to; "": none
	args   []string
	tls    bool
	cmd    *exec.Cmd
	mu     sync.Mutex
	client *redis.Client // nil until its first use
}

// Start starts a server without persistence, with these additional arguments of redis-server, and stops it at the end of
// the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := Reserve(tb, args...)
	s.Up()
	return s
}

// StartClusterNode starts a Redis Cluster of one node, which owns all slots. It refuses a script whose keys are not all in
// one slot.
func StartClusterNode(tb testing.TB) *Server {
	tb.Helper()
	s := Start(tb, "--cluster-enabled", "yes")
	if err := s.Client().ClusterAddSlotsRange(tb.Context(), 0, 16383).Err(); err != nil {
		tb.Fatalf("give the node all slots: %v", err)
	}
	await(tb, "Cluster of one node", func(ctx context.Context) bool {
		return strings.Contains(s.Client().ClusterInfo(ctx).Val(), "cluster_state:ok")
	})
	return s
}

// Reserve returns a server with a free port that is not running yet.
func Reserve(tb testing.TB, args ...string) *Server {
	tb.Helper()
	addr := freeAddr(tb)
	s := &Server{Addr: addr, URL: "redis://" + addr, t: tb, dir: tb.TempDir(), args: args}
	tb.Cleanup(s.Kill)
	return s
}

// Up starts the server, also after Kill, and waits until it answers.
func (s *Server) Up() {
	s.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("redis-server is missing: install the Debian package redis-server, or run make test as root")
	}
	s.cmd = exec.Command(path, s.commandLine()...) //nolint:noctx // a test server that Kill ends
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	s.awaitPing()
}

func (s *Server) commandLine() []string {
	host, port, _ := net.SplitHostPort(s.Addr)
	var args []string
	if s.config != "" {
		args = append(args, s.config)
	} else {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	args = append(args, "--bind", host, "--dir", s.dir, "--logfile", filepath.Join(s.dir, "redis.log"))
	if s.tls {
		args = append(args, "--port", "0", "--tls-port", port)
	} else {
		args = append(args, "--port", port)
	}
	return append(args, s.args...)
}

// Kill ends the server at once, like a crash. It does nothing if the server is not running.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGCONT) // a suspended process does not end
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Client returns a client with the settings of the relay: it does not retry, and it obeys the deadlines of contexts.
func (s *Server) Client() *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1})
	s.t.Cleanup(func() { _ = client.Close() })
	s.client = client
	return client
}

func (s *Server) awaitPing() {
	s.t.Helper()
	deadline := time.After(startWithin)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !s.ping() {
		select {
		case <-ticker.C:
		case <-deadline:
			log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
			s.t.Fatalf("redis-server on %s did not answer within %s:\n%s", s.Addr, startWithin, log)
		}
	}
}

// ping checks the server without go-redis, which logs each refused connection.
func (s *Server) ping() bool {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second) //nolint:noctx // bounded by its own timeout
	if err != nil {
		return false
	}
	defer conn.Close()
	if s.tls {
		return true // the server listens as soon as it can answer
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	answer := make([]byte, 5)
	_, err = io.ReadFull(conn, answer)
	return err == nil && (string(answer) == "+PONG" || string(answer) == "-NOAU") // -NOAUTH: it needs a password
}

func freeAddr(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed immediately
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer listener.Close()
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatalf("listener on %v", listener.Addr())
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
}

// Dump returns the values of all keys that match a pattern, as text by key, for checks that nothing was written.
func Dump(ctx context.Context, client *redis.Client, pattern string) (map[string]string, error) {
	all := map[string]string{}
	keys := client.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		value, err := valueOf(ctx, client, keys.Val())
		if errors.Is(err, redis.Nil) {
			continue // it expired since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("dump %s: %w", keys.Val(), err)
		}
		all[keys.Val()] = value
	}
	if err := keys.Err(); err != nil {
		return nil, fmt.Errorf("scan %s: %w", pattern, err)
	}
	return all, nil
}

// valueOf returns the type and value of a key. DUMP of Redis does not serve, because reads change the order of a hash's fields.
func valueOf(ctx context.Context, client *redis.Client, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", fmt.Errorf("type: %w", err)
	}
	var value any
	switch kind {
	case "hash":
		value, err = client.HGetAll(ctx, key).Result()
	case "zset":
		value, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "stream":
		value, err = client.XRange(ctx, key, "-", "+").Result()
	case "list":
		value, err = client.LRange(ctx, key, 0, -1).Result()
	case "set":
		value, err = client.SMembersMap(ctx, key).Result()
	default:
		value, err = client.Get(ctx, key).Result()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", kind, err)
	}
	return fmt.Sprint(kind, " ", value), nil
}
