package memory

import (
	"context"

	"slackrelay/store"
)

// Force implements [store.Admissions]. It is the twin of lua/force.lua.
func (s *Store) Force(_ context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.decide(store.ModeForce, channel, requests)
}

// isForced reports whether the batch is the twin of lua/force.lua: its requests are posted whatever the limits say, and
// spend no units.
func (b *batch) isForced() bool { return b.plan.Mode == store.ModeForce }

// forced returns what is left of a decision by an earlier message when the request is forced: it is never dropped, and
// never waits for a slot.
func (d decision) forced() decision {
	if d.attached && (d.outcome.Drops() || d.outcome == store.Delayed) {
		return decision{}
	}
	return d
}
