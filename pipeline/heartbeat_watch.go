package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slackrelay/problem"
	"slackrelay/store"
)

// watchScope is where the watch of all heartbeats is stored. No configured channel has a "~" in its name.
var watchScope = store.Channel{Group: "~heartbeats", Name: "~heartbeats"}

const (
	// watchDocument is the document of the watch.
	watchDocument = "heartbeat/~watch"
	// keepWatch is how long the watch is kept while no replica runs.
	keepWatch = 31 * 24 * time.Hour
	// maxTries is how often a document is decided again that others change meanwhile.
	maxTries = 10
)

// tick notes that this replica watches, unless another one did just before. recovered reports that the store can be reached again,
// or for the first time.
func (h *Heartbeats) tick(ctx context.Context) (recovered bool) {
	for range maxTries {
		stored, version, now, err := h.loadWatch(ctx)
		if err != nil {
			h.memory.noteOutage()
			return false
		}
		ticked, waits := h.memory.ticked(stored, now)
		if waits {
			return false
		}
		if ticked.Since == stored.Since && ticked.Gaps == stored.Gaps && now-stored.Until < watchEvery.Microseconds() {
			return h.memory.noteWatch(stored)
		}
		saved, err := h.saveWatch(ctx, ticked, version)
		if err != nil {
			h.memory.noteOutage()
			return false
		}
		if saved {
			return h.memory.noteWatch(ticked)
		}
	}
	return false
}

func (h *Heartbeats) loadWatch(ctx context.Context) (watch problem.Watch, version, now int64, err error) {
	now, all, err := h.load(ctx, watchScope, watchDocument)
	if err != nil {
		return watch, 0, 0, err
	}
	if json.Unmarshal(all[0].Data, &watch) != nil {
		watch = problem.Watch{} // it begins anew
	}
	return watch, all[0].Version, now, nil
}

func (h *Heartbeats) saveWatch(ctx context.Context, watch problem.Watch, version int64) (saved bool, err error) {
	data, err := json.Marshal(watch)
	if err != nil {
		return false, fmt.Errorf("encode the watch: %w", err)
	}
	return h.save(ctx, watchScope, store.ProblemChange{Name: watchDocument, Version: version, Data: data, Keep: keepWatch})
}

// ticked returns the watch after a tick. waits means that this process does not tick yet: if it replaces the only replica, the time
// in which nobody watched must be a gap.
func (m *HeartbeatMemory) ticked(stored problem.Watch, now int64) (ticked problem.Watch, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ready && stored.Since != 0 && time.Since(m.started) <= problem.MaxGap {
		return stored, true
	}
	wentBack := m.ready && (stored.Since != m.watch.Since || stored.Until < m.watch.Until || stored.Gaps < m.watch.Gaps)
	unnoted := m.failed && stored.Gaps == m.watch.Gaps // no other replica has noted the outage that this one saw
	return stored.Tick(now, unnoted || wentBack), false
}

// noteWatch notes the watch that is in the store, and reports whether the store was out of reach before.
func (m *HeartbeatMemory) noteWatch(watch problem.Watch) (recovered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	recovered = m.failed || !m.ready || watch.Since != m.watch.Since || watch.Gaps != m.watch.Gaps
	m.watch = watch
	m.ready = true
	m.failed = false
	return recovered
}

// noteOutage notes that the store cannot be reached.
func (m *HeartbeatMemory) noteOutage() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = m.ready
}
