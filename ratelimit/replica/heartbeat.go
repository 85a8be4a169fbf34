package replica

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Health is how a limiter stands, for people and probes.
type Health struct {
	Up        bool         // the shared state can be reached
	Replicas  int64        // processes that share it, this one included
	StateLost int64        // how often it came back without its data, since the start
	Away      []AwayStatus // channels that are decided without it now
}

// AwayStatus is a channel that is decided without the shared state.
type AwayStatus struct {
	Channel string
	Policy  Policy // the one in effect
	Since   time.Time
	Why     string // for operators
}

// Health tells how the limiter stands.
func (s *Limiter) Health() Health {
	h := Health{Up: s.reached.Load(), Replicas: s.replicas(), StateLost: s.stateLost.Load()}
	for _, ch := range s.all() {
		if !ch.outage.down() {
			continue
		}
		ch.outage.mu.Lock()
		h.Away = append(h.Away, AwayStatus{Channel: ch.scope.Name, Policy: ch.effective(), Since: ch.outage.since, Why: lua.Describe(ch.outage.why())})
		ch.outage.mu.Unlock()
		h.Up = false
	}
	return h
}

// PolicyOf is the policy that a channel follows while Redis is away, as far as this process can.
func (s *Limiter) PolicyOf(scope store.Channel) Policy { return s.channel(scope).effective() }

// Run says that this process lives, until ctx ends.
func (s *Limiter) Run(ctx context.Context) {
	var before lua.Fault
	for {
		before = s.tellFault(ctx, before, s.beat(ctx))                            // each channel has its own breaker, which says what it means
		if store.Sleep(ctx, s.opts.Heartbeat-rand.N(s.opts.Heartbeat/4)) != nil { //nolint:gosec // jitter is no secret
			return
		}
	}
}

// beat says that this process lives, and learns how many do, and which windows they count in.
func (s *Limiter) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	heard, err := s.peers.beat(ctx, s.engine, store.Heartbeat{Replica: s.opts.Replica, TTL: 3 * s.opts.Heartbeat})
	if err != nil {
		return err
	}
	s.alive.Store(heard.Alive)
	s.reached.Store(true)
	if before, _ := s.epoch.Swap(heard.Epoch).(string); before != "" && before != heard.Epoch {
		s.stateLost.Add(1)
		for _, ch := range s.all() {
			ch.closed.clear()
			ch.remembered.forget()
		}
		s.opts.Logger.ErrorContext(ctx, "redis lost its data: messages that were admitted and not yet posted are lost, and counters restart from zero, so up to one extra limit can be admitted within a window")
	}
	return nil
}

// farewell says that this process ends, so that the others need not wait for it to be forgotten.
func (s *Limiter) farewell(ctx context.Context) {
	if _, err := s.engine.Heartbeat(ctx, store.Heartbeat{Replica: s.opts.Replica, TTL: 3 * s.opts.Heartbeat, Ended: true}); err != nil {
		s.opts.Logger.DebugContext(ctx, "the other replicas notice a little later that this one ended", "error", err)
	}
}

// lostAtClose says what ends with this process, because Redis is still away.
func (s *Limiter) lostAtClose(ctx context.Context) {
	for _, ch := range s.all() {
		if !ch.outage.down() {
			continue
		}
		err := ch.takeBack(ctx)
		admitted, unsent, dead := ch.packJournal()
		s.opts.Logger.ErrorContext(ctx, "still without Redis at the end: what was decided without it is not in the shared ledger",
			"channel", ch.scope.Name, "admitted", admitted, "not_sent", unsent, "dead_letters", dead, "error", err)
	}
}

func compareScopes(a, b store.Channel) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}
