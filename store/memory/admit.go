package memory

import (
	"context"

	"slackrelay/store"
)

// Admit implements [store.Admissions]. It is the twin of lua/admit.lua.
func (s *Store) Admit(_ context.Context, channel store.Channel, requests []store.Request) (store.Answer, error) {
	return s.decide(store.ModeAdmit, channel, requests)
}

// decide decides requests as the script of the mode does.
func (s *Store) decide(mode store.Mode, channel store.Channel, requests []store.Request) (answer store.Answer, err error) {
	if err := store.Check(mode, requests); err != nil {
		return store.Answer{}, err
	}
	s.do(channel, func(tx channelTx) { answer = s.newBatch(tx, mode, requests).run(requests) })
	return answer, nil
}
