package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// stored is what a Redis stores, and what its scripts did since its start.
type stored struct {
	bytes int64 // without connections and scripts
	calls int64 // of scripts
	busy  int64 // microseconds that these took
}

func (s *system) stored(ctx context.Context) (stored, error) {
	text, err := s.redis.Info(ctx, "memory", "commandstats").Result()
	if err != nil {
		return stored{}, fmt.Errorf("memory of redis: %w", err)
	}
	now := stored{calls: scriptCalls(text)}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_memory":
			now.bytes += number(value)
		case "mem_clients_normal", "used_memory_scripts":
			now.bytes -= number(value)
		case "cmdstat_eval", "cmdstat_evalsha":
			_, usec, _ := strings.Cut(value, ",usec=")
			usec, _, _ = strings.Cut(usec, ",")
			now.busy += number(usec)
		}
	}
	return now, nil
}

// number reads an integer of INFO, which Redis wrote.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// kindInKey finds the kind of a key: a level has its strategy too.
var kindInKey = regexp.MustCompile(`^relay:(?:\{([^}]*)\}:)?(limit:[a-z-]+:[a-z]+|[a-z]+)`)

// measureKeys adds the keys of each kind by MEMORY USAGE: how many there are, and the bytes of one on average.
func (m *memoryMeter) measureKeys(ctx context.Context) error {
	keys, bytes := map[string]int64{}, map[string]int64{}
	client := m.system.redis
	var cursor uint64
	for {
		page, next, err := client.Scan(ctx, cursor, "relay:*", 1000).Result()
		if err != nil {
			return fmt.Errorf("list keys: %w", err)
		}
		sizes := make([]*redis.IntCmd, len(page))
		if _, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, key := range page {
				sizes[i] = pipe.MemoryUsage(ctx, key, 0)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("memory of keys: %w", err)
		}
		for i, key := range page {
			if kind := kindInKey.FindStringSubmatch(key); kind != nil && kind[1] != "closed" {
				keys[kind[2]]++
				bytes[kind[2]] += sizes[i].Val()
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	var kinds []string
	for kind := range keys {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		m.add("key "+kind+": keys", "1", float64(keys[kind]))
		m.add("key "+kind+": memory of one", "B", float64(bytes[kind])/float64(keys[kind]))
	}
	return nil
}
