package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"slackrelay/notifier/fakeslack"
	"slackrelay/test/bare"
)

// manyEvents is how many events a webhook has where many are posted.
const manyEvents = 20

// measureMemory measures what a relay keeps in Redis, and what it costs to make it, for each thing that it keeps: bytes, calls of
// scripts, and processor time.
func (b *bench) measureMemory(ctx context.Context, of size) ([]figure, error) {
	fmt.Fprintf(b.progress, "memory of %d channels: start\n", of.channels)
	s, err := b.startSystem(ctx, openChannels(of.channels)+closedChannel, 1)
	if err != nil {
		return nil, err
	}
	defer s.close()
	m := &memoryMeter{figures: &figures{size: of}, system: s, idle: b.idle}
	steps := []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"idle", m.measureStart},
		{"events", m.measureEvents},
		{"dropped events", m.measureDrops},
		{"replicas and viewers", m.measureReaders},
		{"keys", m.measureKeys},
	}
	for _, step := range steps {
		fmt.Fprintf(b.progress, "memory of %d channels: %s\n", of.channels, step.name)
		if err := step.do(ctx); err != nil {
			return m.all, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return m.all, nil
}

// memoryMeter measures what a system leaves behind in Redis.
type memoryMeter struct {
	*figures

	system *system
	idle   time.Duration
	serial int // of events: each has an id of its own
}

// measureStart measures channels to which nothing was posted.
func (m *memoryMeter) measureStart(ctx context.Context) error {
	if err := sleep(ctx, min(settle, m.idle)+time.Duration(m.channels)*settleChannel); err != nil {
		return err
	}
	keys, err := m.system.keys(ctx)
	if err != nil {
		return err
	}
	m.add("idle channels: keys of all", "1", float64(keys))
	before, err := m.system.stored(ctx)
	if err != nil {
		return err
	}
	if _, _, err := get(ctx, m.system.relays[0].ops+"/metrics"); err != nil {
		return err
	}
	return m.addSince(ctx, before, "idle channel, first reading", float64(m.channels))
}

// load is webhooks for channels.
type load struct {
	channels, webhooks int // so many for each channel
	events             int // of a webhook
	hook               string
	body               func() ([]byte, error)
	refusal            fakeslack.Reply // of Slack
	requests           int             // to Slack, for each webhook
}

// busyChannels is in how many channels more events are measured than Redis stores in its compact encoding.
const busyChannels = 20

// measureEvents measures what events leave behind in each channel, by what happens to them.
func (m *memoryMeter) measureEvents(ctx context.Context) error {
	n, busy := m.channels, min(m.channels, busyChannels)
	none := fakeslack.Reply{}
	for _, step := range []struct {
		name string // "" = it is not measured
		load load
	}{
		{"first event of a channel", load{n, 1, 1, "", m.events(1, "errors"), none, 1}},
		{"event", load{n, 1, 1, "", m.events(1, "errors"), none, 1}},
		{"first event of a category", load{n, 1, 1, "", m.events(1, "deploys"), none, 1}},
		{"event of 20", load{n, 1, manyEvents, "", m.events(manyEvents, "errors"), none, manyEvents}},
		{"alert of 20", load{n, 1, manyEvents, "/alertmanager", alerts(manyEvents), none, manyEvents}},
		{"", load{busy, 10, manyEvents, "", m.events(manyEvents, "errors"), none, manyEvents}},
		{"event of 20 in a busy channel", load{busy, 10, manyEvents, "", m.events(manyEvents, "errors"), none, manyEvents}},
		{"dead letter", load{n, 1, manyEvents, "", m.events(manyEvents, "errors"), fakeslack.APIError("is_archived"), manyEvents}},
		{"queued event", load{n, 1, manyEvents, "", m.events(manyEvents, "errors"), rateLimited, 0}},
	} {
		before, err := m.system.stored(ctx)
		if err != nil {
			return err
		}
		if err := m.post(ctx, &step.load); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if step.name == "" {
			continue
		}
		events := step.load.channels * step.load.webhooks * step.load.events
		if err := m.addSince(ctx, before, step.name, float64(events)); err != nil {
			return err
		}
	}
	return nil
}

// rateLimited makes a channel wait for longer than the measurement takes.
var rateLimited = fakeslack.Reply{Status: http.StatusTooManyRequests, RetryAfter: "3600"}

// events returns a webhook of n events of a category in the relay's own format, each with an id of its own.
func (m *memoryMeter) events(n int, category string) func() ([]byte, error) {
	type event struct {
		bare.Event

		ID string `json:"id"`
	}
	return func() ([]byte, error) {
		var webhook struct {
			Events []event `json:"events"`
		}
		for range n {
			m.serial++
			e := event{bare.OneEvent(), fmt.Sprint("event-", m.serial)}
			e.Category = category
			webhook.Events = append(webhook.Events, e)
		}
		return json.Marshal(webhook)
	}
}

// alerts returns a webhook of n alerts from Alertmanager.
func alerts(n int) func() ([]byte, error) {
	return func() ([]byte, error) { return json.Marshal(bare.ManyAlerts(n)) }
}

// post posts a load, and waits for its requests to Slack.
func (m *memoryMeter) post(ctx context.Context, l *load) error {
	s := m.system
	s.slack.refusal.Store(&l.refusal)
	want := s.slack.posts.Load() + int64(l.channels*l.webhooks*l.requests)
	for i := range l.channels * l.webhooks {
		webhook, err := l.body()
		if err != nil {
			return err
		}
		if _, err := s.relays[0].post(ctx, channelName(i%l.channels)+l.hook, webhook); err != nil {
			return err
		}
	}
	for began := time.Now(); s.slack.posts.Load() < want; {
		if time.Since(began) > drainWithin {
			return fmt.Errorf("within %s, slack got %d requests too few", drainWithin, want-s.slack.posts.Load())
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// addSince adds what each of n things cost since before.
func (m *memoryMeter) addSince(ctx context.Context, before stored, name string, n float64) error {
	if err := sleep(ctx, time.Second); err != nil { // what was posted is acknowledged, and counts are merged
		return err
	}
	after, err := m.system.stored(ctx)
	m.add(name+": memory", "B", float64(after.bytes-before.bytes)/n)
	m.add(name+": script calls", "1", float64(after.calls-before.calls)/n)
	m.add(name+": processor time of Redis", "µs", microseconds(after.redis-before.redis)/n)
	m.add(name+": processor time of the relay", "µs", microseconds(after.relays-before.relays)/n)
	return err
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
