package replica

import (
	"time"

	"slackrelay/lua"
)

// Health is the state of a limiter, for people and probes.
type Health struct {
	Up        bool         // the store is available
	Replicas  int64        // processes that the limits are divided among, this one included
	StateLost int64        // how often the store came back without its data, since the start
	Away      []AwayStatus // channels whose store is unavailable
}

// AwayStatus is a channel whose store is unavailable.
type AwayStatus struct {
	Channel string
	Policy  Policy    // that it follows
	Since   time.Time // when the outage began
	Why     string    // for operators, with the remedy
}

// Replicas returns the processes that the limits are divided among, this one included. It takes no lock: the fallback may ask in
// the middle of a step, while a channel that holds its own lock waits for that step.
func (l *Limiter) Replicas() int64 { return l.replicas() }

// Health returns the state of the limiter. It asks nobody.
func (l *Limiter) Health() Health {
	h := Health{Up: l.reached.Load(), Replicas: l.replicas(), StateLost: l.stateLost.Load()}
	for _, ch := range l.allChannels() {
		if ch.outage.down() {
			h.Up = false
			h.Away = append(h.Away, ch.awayStatus())
		}
	}
	return h
}

func (ch *channel) awayStatus() AwayStatus {
	ch.outage.mu.Lock()
	defer ch.outage.mu.Unlock()
	return AwayStatus{
		Channel: ch.scope.Name,
		Policy:  ch.policy(),
		Since:   ch.outage.since,
		Why:     lua.Describe(ch.outage.cause()),
	}
}
