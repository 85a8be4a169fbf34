package memory

import (
	"context"
	"slices"

	"slackrelay/store"
)

// DeleteDead implements [store.DeadLetters]. It is the twin of lua/remove.lua.
func (s *Store) DeleteDead(_ context.Context, channel store.Channel, ids ...string) (int, error) {
	deleted := 0
	s.data.Do(func(tx *Tx) {
		dead := lookOrEmpty[deadLetters](tx, channel.Keys().Dead())
		before := len(dead.all)
		dead.all = slices.DeleteFunc(dead.all, func(l store.DeadLetter) bool { return slices.Contains(ids, l.ID) })
		deleted = before - len(dead.all)
	})
	return deleted, nil
}
