package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// measureReads measures a scrape, and the first page of the list of channels.
func measureReads(ctx context.Context, s *system, f *figures) error {
	took, err := readTime(ctx, s.relays[0].ops+"/metrics", []byte("relay_outbox_pending{"))
	if err != nil {
		return err
	}
	f.add("/metrics", "s", took)
	took, err = readTime(ctx, s.relays[0].ops+"/api/v1/channels", []byte(`"ledger":`))
	f.add("/api/v1/channels", "s", took)
	return err
}

// readTime returns how many seconds an answer took; a time-out = it lacks a text, so the relay gave up.
func readTime(ctx context.Context, url string, text []byte) (float64, error) {
	began := time.Now()
	status, body, err := get(ctx, url)
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK || !bytes.Contains(body, text) {
		return timeout, nil
	}
	return time.Since(began).Seconds(), nil
}

// firstMessages is in how many channels a first message is measured.
const firstMessages = 20

// measureFirstMessages measures from the webhook to Slack in channels that were idle.
func measureFirstMessages(ctx context.Context, s *system, f *figures) error {
	n := min(firstMessages, f.channels)
	var all []float64
	for i := range n {
		took, err := s.deliver(ctx, s.relays[0], i*f.channels/n)
		if err != nil {
			return err
		}
		all = append(all, took)
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	f.add("first message, median", "ms", median(all))
	f.add("first message, slowest", "ms", all[n-1])
	return nil
}

// deliverWithin bounds how long one message may take.
const deliverWithin = 10 * time.Second

// deliver posts a webhook for a channel, and returns after how many milliseconds its message arrived at Slack. A webhook that is
// refused is a time-out too.
func (s *system) deliver(ctx context.Context, through *relay, channel int) (float64, error) {
	arrival := s.slack.expect(slackChannel(channel))
	began := time.Now()
	if _, err := through.post(ctx, channelName(channel), []byte(`{"title":"Disk full"}`)); err != nil {
		if errors.Is(err, errRefused) {
			return timeout, nil
		}
		return 0, err
	}
	select {
	case at := <-arrival:
		return milliseconds(at.Sub(began)), nil
	case <-time.After(deliverWithin):
		return timeout, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// measureReload measures how long a relay takes to put its configuration into effect again, and the slowest message meanwhile.
func measureReload(ctx context.Context, s *system, f *figures) error {
	r := s.relays[0]
	before, err := r.loadedAt(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	var slowest float64
	for time.Since(began) < startWithin {
		took, err := s.deliver(ctx, r, 0)
		if err != nil {
			return err
		}
		slowest = max(slowest, took)
		now, err := r.loadedAt(ctx)
		if err != nil {
			return err
		}
		if now.After(before) {
			f.add("reload", "s", now.Sub(began).Seconds())
			f.add("reload: slowest message", "ms", slowest)
			return nil
		}
	}
	f.add("reload", "s", timeout)
	return nil
}

// loadedAt returns when the relay put its configuration into effect.
func (r *relay) loadedAt(ctx context.Context) (time.Time, error) {
	_, body, err := get(ctx, r.ops+"/api/v1/config")
	if err != nil {
		return time.Time{}, err
	}
	var config struct {
		LoadedAt time.Time `json:"loaded_at"`
	}
	if err := json.Unmarshal(body, &config); err != nil {
		return time.Time{}, fmt.Errorf("configuration in effect: %w", err)
	}
	return config.LoadedAt, nil
}
