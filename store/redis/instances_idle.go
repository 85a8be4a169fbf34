package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// IdleInstances implements [store.Instances].
func (r *Store) IdleInstances(ctx context.Context, idle time.Duration) ([]store.IdleInstance, error) {
	reply, err := r.run(ctx, lua.InstancesIdle, []string{lua.InstanceUses}, idle.Microseconds(), store.MaxIdleInstances)
	if err != nil {
		return nil, fmt.Errorf("read idle channels: %w", err)
	}
	var all []store.IdleInstance
	for i := 0; i+1 < len(reply); i += 2 {
		name, _ := reply[i].(string)
		since, err := integers(reply[i+1 : i+2])
		if err != nil {
			return nil, fmt.Errorf("read idle channels: %w: %w", ratelimit.ErrUnavailable, err)
		}
		all = append(all, store.IdleInstance{Name: name, Idle: store.Microseconds(since[0])})
	}
	return all, nil
}
