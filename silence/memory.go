package silence

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is the store of a single process. Its silences are lost when the process ends.
type Memory struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]Silence
}

var _ Store = (*Memory)(nil)

// NewMemory makes a Memory store with this clock; nil = time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, all: map[string]Silence{}}
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, s Silence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[s.ID] = s
	return nil
}

// Create implements [Store].
func (m *Memory) Create(_ context.Context, s Silence) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, exists := m.all[s.ID]; exists {
		return false, nil
	}
	m.all[s.ID] = s
	return true, nil
}

// List implements [Store].
func (m *Memory) List(context.Context) (time.Time, []Silence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	maps.DeleteFunc(m.all, func(_ string, s Silence) bool { return now.Sub(s.EndsAt) > keepEnded })
	return now, slices.Collect(maps.Values(m.all)), nil
}
