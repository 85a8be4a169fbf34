package pipeline

import (
	"errors"
	"sync"
	"time"

	"slackrelay/problem"
)

// HeartbeatMemory is what a process knows of heartbeats. It outlives reloads.
type HeartbeatMemory struct {
	mu      sync.Mutex
	started time.Time
	watch   problem.Watch // as it was in the store last
	ready   bool          // watch may be relied on
	failed  bool          // the store could not be reached since
	known   map[string]*knownHeartbeat
}

// knownHeartbeat is what a process knows of one heartbeat. Times are of this process's monotonic clock.
type knownHeartbeat struct {
	arrived time.Time // the last one here; zero = none
	written time.Time // the last one here that is in the store
	tried   time.Time // the last attempt to write one that failed; zero = it did not
	news    bool      // its document has something to post, which this process shall do

	state problem.HeartbeatState // as it was in the store last
	read  time.Time              // when; zero = never
	now   int64                  // what the store's time was then
}

// NewHeartbeatMemory returns a memory of nothing.
func NewHeartbeatMemory() *HeartbeatMemory {
	return &HeartbeatMemory{started: time.Now(), known: map[string]*knownHeartbeat{}}
}

// keep forgets all but the configured heartbeats.
func (m *HeartbeatMemory) keep(configured map[string]*Heartbeat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.known {
		if configured[name] == nil {
			delete(m.known, name)
		}
	}
	for name := range configured {
		if m.known[name] == nil {
			m.known[name] = &knownHeartbeat{}
		}
	}
}

// of returns what is known of a heartbeat. A generation that has been replaced may ask for one that is gone. The caller holds mu.
func (m *HeartbeatMemory) of(heartbeat *Heartbeat) *knownHeartbeat {
	if known := m.known[heartbeat.Name]; known != nil {
		return known
	}
	return &knownHeartbeat{}
}

// retryWriteAfter is the time between two attempts to write a heartbeat while the store is away.
const retryWriteAfter = time.Second

// arrive notes a heartbeat, and reports whether it must be written at once: not if one was written just before, which ends an alarm
// as well, nor if the store is away.
func (m *HeartbeatMemory) arrive(heartbeat *Heartbeat, now time.Time) (write bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(heartbeat)
	known.arrived = now
	return m.ready && now.Sub(known.written) >= heartbeat.Coalesce() && now.Sub(known.tried) >= retryWriteAfter
}

// isUnwritten reports whether a heartbeat has arrived that must be written by now.
func (m *HeartbeatMemory) isUnwritten(heartbeat *Heartbeat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(heartbeat)
	return m.ready && known.arrived.After(known.written) && time.Since(known.written) >= heartbeat.Coalesce() &&
		time.Since(known.tried) >= retryWriteAfter
}

// isDurable reports whether the last heartbeat, or one just before, is in the store.
func (m *HeartbeatMemory) isDurable(heartbeat *Heartbeat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(heartbeat)
	return m.ready && !known.written.IsZero() && known.arrived.Sub(known.written) <= heartbeat.Coalesce()
}

// lastArrival returns when a heartbeat arrived here last.
func (m *HeartbeatMemory) lastArrival(heartbeat *Heartbeat) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(heartbeat).arrived
}

// noteWritten notes that the heartbeats that arrived up to a time are in the store, or could not be written.
func (m *HeartbeatMemory) noteWritten(heartbeat *Heartbeat, arrived time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(heartbeat)
	if err != nil {
		known.tried = time.Now()
		m.failed = m.failed || m.ready && !errors.Is(err, errContended)
		return
	}
	known.tried = time.Time{}
	known.written = arrived
}

// noteState notes what is in the store. posts means that this process made what is to be posted.
func (m *HeartbeatMemory) noteState(heartbeat *Heartbeat, state problem.HeartbeatState, now int64, posts bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(heartbeat)
	known.state, known.now, known.read = state, now, time.Now()
	known.news = known.news || posts
}

// takeNews reports, once, that a heartbeat has something to post.
func (m *HeartbeatMemory) takeNews(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[name]
	if known == nil || !known.news {
		return false
	}
	known.news = false
	return true
}

// currentWatch returns the watch, and whether it may be relied on.
func (m *HeartbeatMemory) currentWatch() (watch problem.Watch, ready bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watch, m.ready
}

// isOutdated reports whether the store could not be reached since the last tick: the watch may have a gap that is not known here.
func (m *HeartbeatMemory) isOutdated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

func (m *HeartbeatMemory) isReady() bool {
	_, ready := m.currentWatch()
	return ready
}
