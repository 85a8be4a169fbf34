package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// node is a redis-server.
type node struct {
	*process
	*redis.Client
}

// clusterNodes is how many nodes a Cluster has. All are masters.
const clusterNodes = 3

// startRedis starts a server, or the nodes of a Cluster.
func (s *system) startRedis(ctx context.Context, cluster bool) error {
	if !cluster {
		return s.startNode(ctx)
	}
	for range clusterNodes {
		if err := s.startNode(ctx, "--cluster-enabled", "yes"); err != nil {
			return err
		}
	}
	const slots = 16384
	for i, n := range s.nodes {
		host, port, _ := net.SplitHostPort(s.nodes[0].Options().Addr)
		err := n.ClusterAddSlotsRange(ctx, i*slots/clusterNodes, (i+1)*slots/clusterNodes-1).Err()
		if err == nil {
			err = n.Do(ctx, "cluster", "set-config-epoch", i+1).Err() // else two nodes could have the same one
		}
		if err == nil && i > 0 {
			err = n.ClusterMeet(ctx, host, port).Err()
		}
		if err != nil {
			return fmt.Errorf("make a cluster: %w", err)
		}
	}
	for _, n := range s.nodes {
		err := n.await(ctx, "cluster", startWithin, func() bool {
			info := n.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_size:", clusterNodes))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *system) startNode(ctx context.Context, extra ...string) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(address)
	name := fmt.Sprint("redis-", len(s.nodes)+1)
	args := append([]string{
		"--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", s.dir, "--cluster-config-file", name + ".conf",
	}, extra...)
	server, err := startProcess(ctx, s.dir, name, nil, "redis-server", args...)
	if err != nil {
		return err
	}
	n := node{server, redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, DialerRetries: 1})}
	s.nodes = append(s.nodes, n)
	return n.await(ctx, "redis", startWithin, func() bool { return answers(ctx, address) && n.Ping(ctx).Err() == nil })
}

// redisEnv returns the variables with which a relay finds Redis.
func (s *system) redisEnv() []string {
	if len(s.nodes) == 1 {
		return []string{"RELAY_REDIS_URL=redis://" + s.nodes[0].Options().Addr}
	}
	var addresses []string
	for _, n := range s.nodes {
		addresses = append(addresses, n.Options().Addr)
	}
	return []string{"RELAY_REDIS_CLUSTER=true", "RELAY_REDIS_ADDRS=" + strings.Join(addresses, ",")}
}

// keys returns how many keys all nodes have.
func (s *system) keys(ctx context.Context) (n int64, err error) {
	for _, of := range s.nodes {
		size, err := of.DBSize(ctx).Result()
		if err != nil {
			return 0, fmt.Errorf("count keys: %w", err)
		}
		n += size
	}
	return n, nil
}
