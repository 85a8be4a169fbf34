package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// Problems implements [store.Problems].
func (r *Store) Problems(ctx context.Context, channel store.Channel, names []string) (int64, []store.Problem, error) {
	if err := store.CheckProblems(names); err != nil {
		return 0, nil, fmt.Errorf("load documents of channel %s: %w", channel.Name, err)
	}
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	now, found, err := r.readProblems(ctx, channel, lua.Problems, []string{channel.Keys().Problems()}, args...)
	if err != nil {
		return 0, nil, err
	}
	byName := make(map[string]store.Problem, len(found))
	for _, p := range found {
		byName[p.Name] = p
	}
	all := make([]store.Problem, len(names))
	for i, name := range names {
		all[i] = byName[name]
		all[i].Name = name
	}
	return now, all, nil
}

// readProblems runs a script that returns documents: [now, name, version, wake, data, ...].
func (r *Store) readProblems(
	ctx context.Context, channel store.Channel, script *redis.Script, keys []string, args ...any,
) (now int64, all []store.Problem, err error) {
	reply, err := r.run(ctx, script, keys, args...)
	if err != nil {
		return 0, nil, fmt.Errorf("load documents of channel %s: %w", channel.Name, err)
	}
	texts := make([]string, len(reply))
	for i := range reply {
		texts[i] = fmt.Sprint(reply[i])
	}
	if len(texts)%4 != 1 {
		return 0, nil, fmt.Errorf("load documents of channel %s: reply of %d values", channel.Name, len(texts))
	}
	now, err = strconv.ParseInt(texts[0], 10, 64)
	for i := 1; i < len(texts) && err == nil; i += 4 {
		p := store.Problem{Name: texts[i], Data: []byte(texts[i+3])}
		if p.Version, err = strconv.ParseInt(texts[i+1], 10, 64); err == nil {
			p.Wake, err = strconv.ParseInt(texts[i+2], 10, 64)
		}
		all = append(all, p)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("load documents of channel %s: %w", channel.Name, err)
	}
	return now, all, nil
}
