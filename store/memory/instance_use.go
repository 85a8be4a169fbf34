package memory

import (
	"context"

	"slackrelay/store"
)

// UseInstance implements [store.Instances]. It is the twin of lua/instance_use.lua.
func (s *Store) UseInstance(_ context.Context, instance store.Instance, most int64) (made store.Instance, err error) {
	s.data.Do(func(tx *Tx) {
		known := tx.instances()
		var isKnown bool
		if made, isKnown = known.all[instance.Name]; !isKnown {
			if most > 0 && known.counts[instance.Template] >= most {
				return
			}
			made = instance
			known.all[instance.Name] = instance
			known.counts[instance.Template]++
			known.raiseRevision(tx.now)
		}
		if made == instance {
			known.used[instance.Name] = tx.now
		}
	})
	return made, nil
}
