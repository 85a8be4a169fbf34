package memory

import (
	"context"
	"time"
)

// RemoveInstance implements [store.Instances]. It is the twin of lua/instance_remove.lua.
func (s *Store) RemoveInstance(_ context.Context, name string, idle time.Duration) (removed bool, err error) {
	s.data.Do(func(tx *Tx) {
		known := tx.instances()
		made, isKnown := known.all[name]
		if usedAt, used := known.used[name]; !isKnown || used && usedAt > tx.now-idle.Microseconds() {
			return
		}
		delete(known.all, name)
		delete(known.used, name)
		if known.counts[made.Template]--; known.counts[made.Template] <= 0 {
			delete(known.counts, made.Template)
		}
		known.raiseRevision(tx.now)
		removed = true
	})
	return removed, nil
}
