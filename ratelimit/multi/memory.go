package multi

import (
	"context"
	"sync"
	"time"
)

// NewMemory makes a limiter whose counters end with the process, for tests and simulations. now is its clock; nil is
// [time.Now].
func NewMemory(now func() time.Time, opts Options) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{counters: &memory{clock: now, values: map[string]*value{}, sweepAt: minSweep}, opts: opts.withDefaults()}
}

// memory are counters and claims in this process.
type memory struct {
	clock   func() time.Time
	mu      sync.Mutex
	values  map[string]*value
	sweepAt int // how many values there may be before those that ended are removed
}

// value is a counter, or the claim of an id, until it ends.
type value struct {
	n     int64
	state idState
	ends  time.Time
}

// minSweep is how many values are kept before any is removed.
const minSweep = 1024

var _ counters = (*memory)(nil)

func (m *memory) now(context.Context) (time.Time, error) { return m.clock(), nil }

func (m *memory) add(_ context.Context, calls []call) ([]reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	m.sweep(now)
	readings := make([]reading, len(calls))
	for i, c := range calls {
		readings[i].id = m.look(c.claim, now).state
		m.begin(c.claim, now, pendingFor, idPending)
		for _, w := range c.windows {
			v := m.begin(w.key, now, w.lives, idNew)
			v.n += c.units
			readings[i].windows = append(readings[i].windows, total{v.n, v.ends.Sub(now)})
		}
	}
	return readings, nil
}

func (m *memory) read(_ context.Context, calls []call) ([]reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	readings := make([]reading, len(calls))
	for i, c := range calls {
		readings[i].id = m.look(c.claim, now).state
		for _, w := range c.windows {
			v := m.look(w.key, now)
			readings[i].windows = append(readings[i].windows, total{v.n + c.units, v.ends.Sub(now)})
		}
	}
	return readings, nil
}

func (m *memory) conclude(_ context.Context, c conclusion, dedupe time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	for key, undo := range c.undo {
		if v := m.look(key, now); v.n > 0 {
			v.n -= undo.units
		}
	}
	for _, claim := range c.released {
		delete(m.values, claim)
	}
	for _, claim := range c.admitted {
		m.values[claim] = &value{state: idAdmitted, ends: now.Add(dedupe)}
	}
	return nil
}

// look returns a value; one that does not exist is empty and ends now.
func (m *memory) look(key string, now time.Time) *value {
	if v := m.values[key]; v != nil && now.Before(v.ends) {
		return v
	}
	return &value{ends: now}
}

// begin returns a value, and begins it where it does not exist.
func (m *memory) begin(key string, now time.Time, lives time.Duration, state idState) *value {
	v := m.look(key, now)
	if !now.Before(v.ends) {
		v.state, v.ends = state, now.Add(lives)
		m.values[key] = v
	}
	return v
}

// sweep removes what has ended, once there are twice as many values as remained after the last sweep.
func (m *memory) sweep(now time.Time) {
	if len(m.values) < m.sweepAt {
		return
	}
	for key, v := range m.values {
		if !now.Before(v.ends) {
			delete(m.values, key)
		}
	}
	m.sweepAt = max(minSweep, 2*len(m.values))
}
