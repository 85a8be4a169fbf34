package pipeline

import (
	"maps"
	"slices"
	"sync"
	"time"

	"slackrelay/store"
)

// memory is what delivery remembers of a channel from one run to the next.
type memory struct {
	blindUntil  time.Time            // until then, lookups are not tried again: Slack refused the last one
	exhausted   time.Time            // until then, no post can be reserved
	reserved    map[string]time.Time // calls that were reserved, by method, and until when they may be made
	unavailable bool                 // the last call of the outbox failed
}

// matters reports whether the next run may need it.
func (m *memory) matters(now time.Time) bool {
	maps.DeleteFunc(m.reserved, func(_ string, until time.Time) bool { return !now.Before(until) })
	return m.unavailable || len(m.reserved) > 0 || now.Before(m.exhausted) || now.Before(m.blindUntil)
}

// memories are kept of channels that do not run, as long as they matter.
type memories struct {
	mu    sync.Mutex
	saved map[string]memory // by channel
}

// take returns what is remembered of a channel, whose run keeps it from now on.
func (m *memories) take(channel string) memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := m.saved[channel]
	delete(m.saved, channel)
	return saved
}

// save keeps what the run of a channel remembers.
func (m *memories) save(channel string, of memory) {
	if !of.matters(time.Now()) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved == nil {
		m.saved = map[string]memory{}
	}
	m.saved[channel] = of
}

// isExhausted reports whether a channel that does not run could reserve no post now.
func (m *memories) isExhausted(channel string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.saved[channel].exhausted)
}

// able returns the channels that could reserve a post now, or run.
func (m *memories) able(among []store.Channel) []store.Channel {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	isExhausted := func(of memory) bool { return now.Before(of.exhausted) }
	for _, saved := range m.saved {
		if isExhausted(saved) {
			return slices.DeleteFunc(slices.Clone(among), func(channel store.Channel) bool { return isExhausted(m.saved[channel.Name]) })
		}
	}
	return among
}

// forget deletes what does not matter any more.
func (m *memories) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(m.saved, func(_ string, of memory) bool { return !of.matters(now) })
}
