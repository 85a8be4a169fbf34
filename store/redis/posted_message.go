package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
	"slackrelay/store"
)

// Record implements [Outbox].
func (r *Store) PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error) {
	text, err := lua.ReadPostedMessage.Run(ctx, r.scripter, []string{channel.Keys().Posted()}, number).Text()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // documented: nothing is kept and nothing is wrong
	}
	if err != nil {
		return nil, fmt.Errorf("record %d of channel %s: %w", number, channel.Name, err)
	}
	var record store.PostedMessage
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return nil, fmt.Errorf("record %d of channel %s: %w", number, channel.Name, err)
	}
	return &record, nil
}
