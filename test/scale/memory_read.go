package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

// dropped is how many events exceed a limit where dropped events are measured.
const dropped = 4000

// measureDrops measures events that exceed a limit.
func (m *memoryMeter) measureDrops(ctx context.Context) error {
	first, err := m.events(manyEvents, "errors")()
	if err != nil {
		return err
	}
	if _, err := closeLimit(ctx, m.system.relays[0], "closed", first); err != nil {
		return err
	}
	for _, step := range []struct {
		name   string
		events int // of a webhook
	}{{"dropped event", 1}, {"dropped event of 20", manyEvents}} {
		before, err := m.system.stored(ctx)
		if err != nil {
			return err
		}
		body := m.events(step.events, "errors")
		for range dropped / step.events {
			webhook, err := body()
			if err != nil {
				return err
			}
			if _, err := m.system.relays[0].post(ctx, "closed", webhook); err != nil {
				return err
			}
		}
		if err := m.addSince(ctx, before, step.name, dropped); err != nil {
			return err
		}
	}
	return m.measureRecords(ctx)
}

// measureRecords measures the records of the drop log of [closedChannel].
func (m *memoryMeter) measureRecords(ctx context.Context) error {
	const log = "relay:{closed}:drops:closed"
	for _, n := range m.system.nodes {
		records, err := n.XLen(ctx, log).Result()
		if redis.HasErrorPrefix(err, "MOVED") { // another node of a Cluster has it
			continue
		}
		if err != nil {
			return fmt.Errorf("drop log: %w", err)
		}
		bytes, err := n.MemoryUsage(ctx, log, 0).Result()
		m.add("record of a dropped event: memory", "B", float64(bytes)/float64(records))
		return err
	}
	return errors.New("no node has the drop log")
}

// measureReaders measures what reads Redis without events: replicas, and viewers of the dashboard.
func (m *memoryMeter) measureReaders(ctx context.Context) error {
	one, err := m.measureIdle(ctx)
	if err != nil {
		return err
	}
	m.add("one idle replica: script calls", "1/s", one.calls)
	m.add("one idle replica: processor time of Redis", "% of a core", one.redis)
	for _, viewers := range []int{1, 3} {
		viewing, stop := context.WithCancel(ctx)
		for range viewers {
			go m.system.relays[0].view(viewing)
		}
		with, err := m.measureIdle(ctx)
		stop()
		if err != nil {
			return err
		}
		m.add(fmt.Sprintf("viewers, %d: script calls", viewers), "1/s", with.calls-one.calls)
		m.add(fmt.Sprintf("viewers, %d: processor time of Redis", viewers), "% of a core", with.redis-one.redis)
		m.add(fmt.Sprintf("viewers, %d: processor time of the relay", viewers), "% of a core", with.relays-one.relays)
	}
	before, err := m.system.stored(ctx)
	if err != nil {
		return err
	}
	if err := m.system.startRelay(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, min(settle, m.idle)+time.Duration(m.channels)*settleChannel); err != nil {
		return err
	}
	two, err := m.measureIdle(ctx)
	if err != nil {
		return err
	}
	after, err := m.system.stored(ctx)
	m.add("second replica: memory", "B", float64(after.bytes-before.bytes))
	m.add("second replica: script calls", "1/s", two.calls-one.calls)
	return err
}

// rate is what a system uses: script calls in a second, and % of a core.
type rate struct{ calls, redis, relays float64 }

func (m *memoryMeter) measureIdle(ctx context.Context) (rate, error) {
	before, err := m.system.stored(ctx)
	if err != nil {
		return rate{}, err
	}
	began := time.Now()
	if err := sleep(ctx, m.idle); err != nil {
		return rate{}, err
	}
	after, err := m.system.stored(ctx)
	elapsed := time.Since(began)
	return rate{
		calls:  float64(after.calls-before.calls) / elapsed.Seconds(),
		redis:  (after.redis - before.redis).Seconds() / elapsed.Seconds() * 100,
		relays: (after.relays - before.relays).Seconds() / elapsed.Seconds() * 100,
	}, err
}

// view reads the stream of the dashboard until ctx ends.
func (r *relay) view(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ops+"/api/v1/stream", nil)
	if err != nil {
		return
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
}
