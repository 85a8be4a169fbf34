package pipeline

import (
	"sync"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
)

// maxKnownAlerts bounds the alerts that a process knows without the store.
const maxKnownAlerts = 20_000

// AlertMemory is what a process knows of alerts without the store: those that it took in, and since when it takes in all posts.
type AlertMemory struct {
	mu          sync.Mutex
	interrupted time.Time
	byName      map[string]problem.Alert // by channel and document, without texts
}

// NewAlertMemory returns the memory of a process that starts now.
func NewAlertMemory() *AlertMemory { return &AlertMemory{interrupted: time.Now()} }

// Interrupt notes that posts before now may be lost, because the store was unavailable.
func (m *AlertMemory) Interrupt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.interrupted = time.Now()
}

// since returns when the last interruption ended, in the time of the store, which is now.
func (m *AlertMemory) since(now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Add(-time.Since(m.interrupted))
}

// recall gives a board what is known of its alerts. If the store is available, what it has is right, and only alerts that fire are
// missing by mistake.
func (m *AlertMemory) recall(channel string, board *alertBoard, available bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, document := range board.byName {
		alert, ok := m.byName[channel+" "+name]
		if ok && document.alert == nil && (!available || alert.Fires(board.now)) {
			document.alert = &alert
		}
	}
}

// keep remembers what became of the alerts of a board. If there are too many, all others are forgotten.
func (m *AlertMemory) keep(channel string, board *alertBoard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byName == nil || len(m.byName)+len(board.byName) > maxKnownAlerts {
		m.byName = map[string]problem.Alert{}
	}
	for name, document := range board.byName {
		if document.alert == nil {
			continue
		}
		alert := *document.alert
		alert.Event = events.Event{Fingerprint: alert.Event.Fingerprint, StartedAt: alert.Event.StartedAt}
		alert.Annotations, alert.GeneratorURL, alert.Group = nil, "", ""
		m.byName[channel+" "+name] = alert
	}
}
