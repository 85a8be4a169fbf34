package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
)

// RemoveInstance implements [store.Instances].
func (r *Store) RemoveInstance(ctx context.Context, name string, idle time.Duration) (removed bool, err error) {
	keys := []string{lua.Instances, lua.InstanceUses, lua.InstanceCount}
	reply, err := r.run(ctx, lua.InstanceRemove, keys, name, idle.Microseconds())
	if err != nil {
		return false, fmt.Errorf("remove channel %s: %w", name, err)
	}
	return isDone(reply), nil
}

// isDone reports whether the reply of a script is [1].
func isDone(reply []any) bool {
	done, err := integers(reply)
	return err == nil && len(done) == 1 && done[0] == 1
}
