package memory

import (
	"context"

	"slackrelay/store"
)

// Admit implements [store.Limiter]. It is the twin of lua/admit.lua.
func (s *Store) Admit(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	if err := store.Check(requests); err != nil {
		return nil, err
	}
	answer, err := s.Decide(ctx, store.ModeAdmit, channel, requests)
	return answer.Decisions, err
}

// Decide decides requests that [store.Check] found to be valid. It is the twin of the script of its mode; mode open, which has none, admits whatever
// the limits say.
func (s *Store) Decide(_ context.Context, mode store.Mode, channel store.Channel, requests []store.Request) (store.Answer, error) {
	var answer store.Answer
	s.data.Do(func(tx *Tx) { answer = s.newBatch(tx, mode, channel, requests).run(requests) })
	return answer, nil
}
