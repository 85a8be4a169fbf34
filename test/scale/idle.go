package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// usage is what a system has used since its start.
type usage struct {
	at            time.Time
	calls         int64 // of scripts
	relays, redis time.Duration
	machine       time.Duration // of all processes
}

func (s *system) usage(ctx context.Context) (usage, error) {
	u := usage{at: time.Now()}
	for _, n := range s.nodes {
		stats, err := n.Info(ctx, "commandstats").Result()
		if err != nil {
			return u, fmt.Errorf("calls of redis: %w", err)
		}
		u.calls += scriptCalls(stats)
		used, err := n.cpu()
		if err != nil {
			return u, err
		}
		u.redis += used
	}
	var err error
	if u.machine, err = machineCPU(); err != nil {
		return u, err
	}
	for _, r := range s.relays {
		used, err := r.cpu()
		if err != nil {
			return u, err
		}
		u.relays += used
	}
	return u, nil
}

// scriptCalls returns how many scripts have run, from the section commandstats of INFO.
func scriptCalls(stats string) (calls int64) {
	for line := range strings.Lines(stats) {
		name, rest, _ := strings.Cut(line, ":calls=")
		switch name {
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall":
			count, _, _ := strings.Cut(rest, ",")
			n, _ := strconv.ParseInt(count, 10, 64)
			calls += n
		}
	}
	return calls
}

// settle is how long a system is left alone before it is idle, and settleChannel how much longer for each channel: after its
// start, a relay checks every channel once.
const (
	settle        = 3 * time.Second
	settleChannel = 2 * time.Millisecond
)

// measureIdle measures what channels cost to which nothing is posted.
func (b *bench) measureIdle(ctx context.Context, s *system, f *figures) error {
	if err := sleep(ctx, min(settle, b.idle)+time.Duration(f.channels)*settleChannel); err != nil {
		return err
	}
	before, err := s.usage(ctx)
	if err != nil {
		return err
	}
	if err := sleep(ctx, b.idle); err != nil {
		return err
	}
	after, err := s.usage(ctx)
	if err != nil {
		return err
	}
	elapsed := after.at.Sub(before.at).Seconds()
	f.add("idle: script calls", "1/s", float64(after.calls-before.calls)/elapsed)
	relays, server := after.relays-before.relays, after.redis-before.redis
	f.add("idle: all relays", "% of a core", relays.Seconds()/elapsed*100)
	f.add("idle: Redis", "% of a core", server.Seconds()/elapsed*100)
	f.add("idle: other processes", "% of a core", (after.machine-before.machine-relays-server).Seconds()/elapsed*100)
	resident, err := s.relays[0].resident()
	if err != nil {
		return err
	}
	f.add("idle: resident memory of one relay", "MiB", resident)
	resident = 0
	for _, n := range s.nodes {
		used, err := n.resident()
		if err != nil {
			return err
		}
		resident += used
	}
	f.add("idle: resident memory of Redis", "MiB", resident)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
