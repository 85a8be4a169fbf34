package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// stored is what a Redis stores, and what it and the relays have used so far.
type stored struct {
	bytes         int64 // without connections and scripts
	calls         int64 // of scripts
	redis, relays time.Duration
}

func (s *system) stored(ctx context.Context) (now stored, err error) {
	for _, n := range s.nodes {
		text, err := n.Info(ctx, "memory").Result()
		if err != nil {
			return now, fmt.Errorf("memory of redis: %w", err)
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch name {
			case "used_memory":
				now.bytes += number(value)
			case "mem_clients_normal", "used_memory_scripts":
				now.bytes -= number(value)
			}
		}
	}
	used, err := s.usage(ctx)
	now.calls, now.redis, now.relays = used.calls, used.redis, used.relays
	return now, err
}

// number reads an integer of INFO, which Redis wrote.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// kindInKey finds the kind of a key: a level has its strategy too.
var kindInKey = regexp.MustCompile(`^relay:(?:\{([^}]*)\}:)?(limit:[a-z-]+:[a-z]+|[a-z]+)`)

// keyKind is all keys of a kind.
type keyKind struct{ keys, bytes int64 }

// measureKeys adds the keys of each kind by MEMORY USAGE: how many there are, and the bytes of one on average.
func (m *memoryMeter) measureKeys(ctx context.Context) error {
	kinds := map[string]*keyKind{}
	for _, n := range m.system.nodes {
		if err := addKeys(ctx, n.Client, kinds); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		kind := kinds[name]
		m.add("key "+name+": keys", "1", float64(kind.keys))
		m.add("key "+name+": memory of one", "B", float64(kind.bytes)/float64(kind.keys))
	}
	return nil
}

// addKeys adds the keys of a server to those of their kind, but those of [closedChannel].
func addKeys(ctx context.Context, client *redis.Client, kinds map[string]*keyKind) error {
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "relay:*", 1000).Result()
		if err != nil {
			return fmt.Errorf("list keys: %w", err)
		}
		pipe := client.Pipeline()
		sizes := make([]*redis.IntCmd, len(keys))
		for i, key := range keys {
			sizes[i] = pipe.MemoryUsage(ctx, key, 0)
		}
		if _, err := pipe.Exec(ctx); err != nil && len(keys) > 0 {
			return fmt.Errorf("memory of keys: %w", err)
		}
		for i, key := range keys {
			found := kindInKey.FindStringSubmatch(key)
			if found == nil || found[1] == "closed" {
				continue
			}
			if kinds[found[2]] == nil {
				kinds[found[2]] = &keyKind{}
			}
			kinds[found[2]].keys++
			kinds[found[2]].bytes += sizes[i].Val()
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
