package redis

import (
	"context"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// ForgetChannel implements [store.Instances].
func (r *Store) ForgetChannel(ctx context.Context, channel store.Channel) (forgotten bool, err error) {
	k, now := channel.Keys(), r.redisTime()
	keys := []string{
		k.Outbox(), k.Extras(), k.Delayed(), k.Dead(), k.Drops(), lua.DueIndex, k.Minutes(now), k.Minutes(now.Add(-time.Hour)),
		k.Ledger(), k.Entries(), k.Posted(), k.Aged(), k.Digest(), k.LastAdmitted(),
	}
	reply, err := r.run(ctx, lua.ForgetChannel, keys)
	if err != nil {
		return false, fmt.Errorf("forget channel %s: %w", channel.Name, err)
	}
	return isDone(reply), nil
}
