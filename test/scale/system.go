package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// system is a Redis, which may be a Cluster, a fake Slack, and relays with one configuration.
type system struct {
	dir, program string
	lease        time.Duration
	env          []string // of the relays
	nodes        []node   // of Redis
	slack        *slack
	relays       []*relay // those that run
	started      int      // relays so far
}

// relay is one replica.
type relay struct {
	*process
	public, ops string // base URLs
	ready       time.Duration
}

// startWithin bounds how long Redis and a relay may take to start.
const startWithin = 2 * time.Minute

// startSystem starts a system. The configuration lists its channels only.
func (b *bench) startSystem(ctx context.Context, channels string, replicas int) (_ *system, err error) {
	s := &system{program: b.relay, lease: b.lease}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp(b.dir, "system"); err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	if s.slack, err = startSlack(); err != nil {
		return nil, err
	}
	if err := s.startRedis(ctx, b.cluster); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "relay.yaml")
	if err := os.WriteFile(path, []byte(channels), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	s.env = append(s.redisEnv(),
		"RELAY_CONFIG="+path, "RELAY_DRAIN=0s",
		"RELAY_SLACK_TOKEN="+slackToken, "RELAY_SLACK_API_URL="+s.slack.APIURL(),
		"RELAY_LEASE="+b.lease.String(), "RELAY_SLACK_LOOKUP_DELAY="+b.lease.String(), "RELAY_SLACK_TIMEOUT="+(b.lease/2).String(),
	)
	for range replicas {
		if err := s.startRelay(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// answers reports whether something listens on an address. go-redis would log each refused connection.
func answers(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// startRelay adds a replica, and waits until it is ready.
func (s *system) startRelay(ctx context.Context) error {
	public, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	ops, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	r := &relay{public: "http://" + public, ops: "http://" + ops}
	env := append([]string{"RELAY_LISTEN=" + public, "RELAY_OPS_LISTEN=" + ops}, s.env...)
	began := time.Now()
	s.started++
	if r.process, err = startProcess(ctx, s.dir, fmt.Sprint("relay-", s.started), env, s.program, "serve"); err != nil {
		return err
	}
	s.relays = append(s.relays, r)
	err = r.await(ctx, "relay", startWithin, func() bool {
		status, _, err := get(ctx, r.ops+"/readyz")
		return err == nil && status == http.StatusOK
	})
	r.ready = time.Since(began)
	return err
}

// close ends everything at once.
func (s *system) close() {
	for _, r := range s.relays {
		r.kill()
	}
	for _, n := range s.nodes {
		_ = n.Close()
		n.kill()
	}
	if s.slack != nil {
		client.CloseIdleConnections()
		_ = s.slack.Close()
	}
}

// openChannels returns the configuration of channels whose limits are never reached, and that post without a pace.
func openChannels(n int) string {
	var text strings.Builder
	text.WriteString("channels:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: %s, slack_channel: %s, global_limit: 1000000, category_limit: 1000000, pace: 0s, bundle: \"off\"}\n",
			channelName(i), slackChannel(i))
	}
	return text.String()
}

func channelName(i int) string  { return fmt.Sprintf("channel-%05d", i) }
func slackChannel(i int) string { return fmt.Sprintf("C%07d", i) }
