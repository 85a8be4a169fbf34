package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"slackrelay/store"
)

// ChangedInstances implements [store.Instances]. It is the twin of lua/instances.lua.
func (s *Store) ChangedInstances(_ context.Context, known int64) (revision int64, all []store.Instance, err error) {
	s.data.Do(func(tx *Tx) {
		present := tx.instances()
		if revision = present.revision; revision != known {
			all = slices.Collect(maps.Values(present.all))
		}
	})
	slices.SortFunc(all, func(a, b store.Instance) int { return cmp.Compare(a.Name, b.Name) })
	return revision, all, nil
}
