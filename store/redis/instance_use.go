package redis

import (
	"context"
	"fmt"
	"strings"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// UseInstance implements [store.Instances].
func (r *Store) UseInstance(ctx context.Context, instance store.Instance, most int64) (store.Instance, error) {
	keys := []string{lua.Instances, lua.InstanceUses, lua.InstanceCount}
	reply, err := r.run(ctx, lua.InstanceUse, keys, instance.Name, instance.Template, instance.Value, most)
	if err != nil {
		return store.Instance{}, fmt.Errorf("use channel %s: %w", instance.Name, err)
	}
	if len(reply) != 1 {
		return store.Instance{}, fmt.Errorf("use channel %s: %w: reply of %d values", instance.Name, ratelimit.ErrUnavailable, len(reply))
	}
	text, _ := reply[0].(string)
	if text == "" {
		return store.Instance{}, nil
	}
	return decodeInstance(instance.Name, text), nil
}

// decodeInstance reads "<template>\n<value>".
func decodeInstance(name, text string) store.Instance {
	template, value, _ := strings.Cut(text, "\n")
	return store.Instance{Name: name, Template: template, Value: value}
}
