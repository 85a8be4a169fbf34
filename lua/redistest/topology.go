package redistest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// readyWithin is how long a topology may take until its nodes know each other.
const readyWithin = 30 * time.Second

// Stop suspends the server, like a machine that hangs. Continue resumes it.
func (s *Server) Stop() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue resumes a server after Stop.
func (s *Server) Continue() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// Sentinels is a master, its two replicas, and three Sentinels that monitor them.
type Sentinels struct {
	Name     string   // name of the master
	Addrs    []string // addresses of the Sentinels
	Master   *Server
	Replicas []*Server
}

// StartSentinels starts the servers and waits until every Sentinel knows all others. Otherwise the Sentinels would abort
// the first failover.
func StartSentinels(tb testing.TB) *Sentinels {
	tb.Helper()
	s := &Sentinels{Name: "mymaster", Master: Start(tb)}
	host, port, _ := net.SplitHostPort(s.Master.Addr)
	for range 2 {
		s.Replicas = append(s.Replicas, Start(tb, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0"))
	}
	for _, replica := range s.Replicas {
		await(tb, "a replica in step", func(ctx context.Context) bool {
			return strings.Contains(replica.Client().Info(ctx, "replication").Val(), "master_link_status:up")
		})
	}
	for range 3 {
		s.Addrs = append(s.Addrs, startSentinel(tb, s.Name, host, port))
	}
	for _, addr := range s.Addrs {
		client := redis.NewSentinelClient(&redis.Options{Addr: addr})
		tb.Cleanup(func() { _ = client.Close() })
		await(tb, "a Sentinel that knows the others", func(ctx context.Context) bool {
			master := client.Master(ctx, s.Name).Val()
			return master["num-slaves"] == "2" && master["num-other-sentinels"] == "2"
		})
	}
	return s
}

func startSentinel(tb testing.TB, name, host, port string) string {
	tb.Helper()
	conf := filepath.Join(tb.TempDir(), "sentinel.conf")
	lines := []string{
		"sentinel monitor " + name + " " + host + " " + port + " 2",
		"sentinel down-after-milliseconds " + name + " 500",
		"sentinel failover-timeout " + name + " 3000",
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatalf("write %s: %v", conf, err)
	}
	s := Reserve(tb)
	s.config, s.args = conf, []string{"--sentinel"}
	s.Up()
	return s.Addr
}

// CutReplication suspends the replicas and closes their connections to the master, so that everything that the master
// admits from now on is lost if it fails. Restore resumes the replicas.
func (s *Sentinels) CutReplication(tb testing.TB) {
	tb.Helper()
	for _, replica := range s.Replicas {
		replica.Stop()
	}
	if err := s.Master.Client().ClientKillByFilter(tb.Context(), "type", "replica").Err(); err != nil {
		tb.Fatalf("cut the replication: %v", err)
	}
}

// Restore resumes the replicas after CutReplication.
func (s *Sentinels) Restore() {
	for _, replica := range s.Replicas {
		replica.Continue()
	}
}

// NewMaster waits until the Sentinels have elected another master, and returns it.
func (s *Sentinels) NewMaster(tb testing.TB) *Server {
	tb.Helper()
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addrs[0]})
	defer client.Close()
	var master *Server
	await(tb, "a new master", func(ctx context.Context) bool {
		addr := client.GetMasterAddrByName(ctx, s.Name).Val()
		for _, replica := range s.Replicas {
			if len(addr) == 2 && net.JoinHostPort(addr[0], addr[1]) == replica.Addr {
				master = replica
			}
		}
		return master != nil
	})
	return master
}

func await(tb testing.TB, what string, done func(ctx context.Context) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), readyWithin)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !done(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			tb.Fatalf("no sign of %s within %s", what, readyWithin)
		}
	}
}
