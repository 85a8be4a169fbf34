package redis

import (
	"context"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// Delayed implements [store.Queue].
func (r *Store) Delayed(ctx context.Context, channel store.Channel) ([]store.DelayedMessage, error) {
	k := channel.Keys()
	reply, err := r.run(ctx, lua.Delayed, []string{k.Delayed(), k.Entries(), lua.DueIndex}, store.MaxDelayed)
	if err != nil {
		return nil, fmt.Errorf("delayed in channel %s: %w", channel.Name, err)
	}
	all := make([]store.DelayedMessage, 0, len(reply)/3)
	for i := 0; i+2 < len(reply); i += 3 {
		number, _ := reply[i].(int64)
		category, _ := reply[i+1].(string)
		entry, _ := reply[i+2].(string)
		_, _, payload := splitEntry([]byte(entry))
		all = append(all, store.DelayedMessage{Number: number, Category: category, Payload: payload})
	}
	return all, nil
}
