package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"slackrelay/store"
)

// IdleInstances implements [store.Instances]. It is the twin of lua/instances_idle.lua.
func (s *Store) IdleInstances(_ context.Context, idle time.Duration) (all []store.IdleInstance, err error) {
	s.data.Do(func(tx *Tx) {
		for name, at := range tx.instances().used {
			if since := store.Microseconds(tx.now - at); since >= idle {
				all = append(all, store.IdleInstance{Name: name, Idle: since})
			}
		}
	})
	slices.SortFunc(all, func(a, b store.IdleInstance) int {
		return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), store.MaxIdleInstances)], nil
}
