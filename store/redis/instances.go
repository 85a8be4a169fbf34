package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// ChangedInstances implements [store.Instances].
func (r *Store) ChangedInstances(ctx context.Context, known int64) (revision int64, all []store.Instance, err error) {
	reply, err := r.run(ctx, lua.InstancesChanged, []string{lua.Instances, lua.InstanceCount}, known)
	if err != nil {
		return 0, nil, fmt.Errorf("read the channels of templates: %w", err)
	}
	if len(reply) == 0 {
		return 0, nil, fmt.Errorf("read the channels of templates: %w: empty reply", ratelimit.ErrUnavailable)
	}
	text, _ := reply[0].(string)
	if revision, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, nil, fmt.Errorf("read the channels of templates: %w: %w", ratelimit.ErrUnavailable, err)
	}
	if len(reply) < 2 {
		return revision, nil, nil
	}
	fields, _ := reply[1].([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		made, _ := fields[i+1].(string)
		all = append(all, decodeInstance(name, made))
	}
	slices.SortFunc(all, func(a, b store.Instance) int { return cmp.Compare(a.Name, b.Name) })
	return revision, all, nil
}
