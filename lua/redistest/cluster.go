package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster of three masters and their replicas.
type Cluster struct {
	Nodes []*Server
	t     testing.TB
}

// StartCluster starts a Cluster of three masters with so many replicas each, and waits until it serves all slots.
func StartCluster(tb testing.TB, replicas int) *Cluster {
	tb.Helper()
	c := &Cluster{t: tb}
	for range 3 * (1 + replicas) {
		c.Nodes = append(c.Nodes, Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "15000", "--repl-diskless-sync-delay", "0"))
	}
	for i, node := range c.Nodes { // with equal epochs, two nodes could both claim a slot that moves
		if err := node.Client().Do(tb.Context(), "cluster", "set-config-epoch", i+1).Err(); err != nil {
			tb.Fatalf("set the epoch: %v", err)
		}
	}
	first := c.Nodes[0].Client()
	for _, node := range c.Nodes[1:] {
		host, port, _ := net.SplitHostPort(node.Addr)
		if err := first.ClusterMeet(tb.Context(), host, port).Err(); err != nil {
			tb.Fatalf("meet: %v", err)
		}
	}
	const slots = 16384
	for i := range 3 {
		if err := c.Nodes[i].Client().ClusterAddSlotsRange(tb.Context(), i*slots/3, (i+1)*slots/3-1).Err(); err != nil {
			tb.Fatalf("give out slots: %v", err)
		}
	}
	for i, node := range c.Nodes[3:] {
		await(tb, "a replica of a master", func(ctx context.Context) bool {
			return node.Client().ClusterReplicate(ctx, c.ID(c.Nodes[i%3])).Err() == nil
		})
	}
	for _, node := range c.Nodes {
		await(tb, "a Cluster that is whole", func(ctx context.Context) bool {
			info := node.Client().ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes))) &&
				strings.Count(node.Client().ClusterNodes(ctx).Val(), "slave ") == 3*replicas
		})
	}
	return c
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr
	}
	return addrs
}

// ID returns the ID of a node in the Cluster.
func (c *Cluster) ID(node *Server) string {
	return node.Client().ClusterMyID(context.Background()).Val()
}

// Owner returns the slot of a key and the master that owns it.
func (c *Cluster) Owner(key string) (owner *Server, slot int) {
	c.t.Helper()
	ctx := c.t.Context()
	slot = int(c.Nodes[0].Client().ClusterKeySlot(ctx, key).Val())
	id := ownerOf(ctx, c.Nodes[0], slot)
	for _, node := range c.Nodes {
		if c.ID(node) == id {
			return node, slot
		}
	}
	c.t.Fatalf("nobody has slot %d", slot)
	return nil, 0
}

// Move moves the slot of a key to another master, key by key, like a resharding.
func (c *Cluster) Move(key string, to *Server) {
	c.t.Helper()
	ctx := c.t.Context()
	from, slot := c.Owner(key)
	source, target := from.Client(), to.Client()
	do := func(client *redis.Client, args ...any) {
		if err := client.Do(ctx, args...).Err(); err != nil {
			c.t.Fatalf("%v: %v", args, err)
		}
	}
	do(target, "cluster", "setslot", slot, "importing", c.ID(from))
	do(source, "cluster", "setslot", slot, "migrating", c.ID(to))
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		keys := source.ClusterGetKeysInSlot(ctx, slot, 1).Val()
		if len(keys) == 0 {
			break
		}
		do(source, "migrate", host, port, keys[0], 0, 5000)
	}
	for _, node := range append([]*Server{to, from}, c.Nodes...) {
		if strings.Contains(node.Client().Info(ctx, "replication").Val(), "role:master") {
			do(node.Client(), "cluster", "setslot", slot, "node", c.ID(to))
		}
	}
	// Wait until all nodes know the new epoch of the owner. A node that does not know it could choose the same epoch for
	// the next move, and both would claim the slot.
	await(c.t, "all nodes that know the new owner", func(ctx context.Context) bool {
		epoch := epochOf(ctx, to, c.ID(to))
		for _, node := range c.Nodes {
			if ownerOf(ctx, node, slot) != c.ID(to) || epochOf(ctx, node, c.ID(to)) != epoch {
				return false
			}
		}
		return true
	})
}

// epochOf returns the epoch of a master as a node knows it.
func epochOf(ctx context.Context, node *Server, id string) string {
	for line := range strings.Lines(node.Client().ClusterNodes(ctx).Val()) {
		if fields := strings.Fields(line); len(fields) > 6 && fields[0] == id {
			return fields[6]
		}
	}
	return ""
}

// ownerOf returns the ID of the master that owns a slot, as a node knows it.
func ownerOf(ctx context.Context, node *Server, slot int) string {
	for _, r := range node.Client().ClusterSlots(ctx).Val() { //nolint:staticcheck // Redis 6.2 has no CLUSTER SHARDS
		if slot >= r.Start && slot <= r.End {
			return r.Nodes[0].ID
		}
	}
	return ""
}
