package memory

import (
	"context"

	"slackrelay/store"
)

// Admit implements [store.Admissions]. It is the twin of lua/admit.lua.
func (s *Store) Admit(ctx context.Context, channel store.Channel, requests []store.Request) ([]store.Decision, error) {
	answer, err := s.checkAndDecide(ctx, store.ModeAdmit, channel, requests)
	return answer.Decisions, err
}

func (s *Store) checkAndDecide(
	ctx context.Context, mode store.Mode, channel store.Channel, requests []store.Request,
) (store.Answer, error) {
	if err := store.Check(requests); err != nil {
		return store.Answer{}, err
	}
	return s.Decide(ctx, mode, channel, requests)
}

// Decide implements [store.Replication]. The requests are those that [store.Check] found to be valid. It is the twin of
// the script of its mode; mode open, which has none, admits whatever the limits are.
func (s *Store) Decide(_ context.Context, mode store.Mode, channel store.Channel, requests []store.Request) (store.Answer, error) {
	var answer store.Answer
	s.do(channel, func(tx channelTx) { answer = s.newBatch(tx, mode, requests).run(requests) })
	return answer, nil
}
