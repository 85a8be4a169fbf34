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

// PostedMessage implements [store.Queue].
func (r *Store) PostedMessage(ctx context.Context, channel store.Channel, number int64) (*store.PostedMessage, error) {
	keys := []string{channel.Keys().Posted()}
	text, err := lua.ReadPostedMessage.Run(ctx, r.scripter, keys, number).Text()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // documented: nothing is remembered, which is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("message %d of channel %s: %w", number, channel.Name, scriptError(lua.WrongType(ctx, r.scripter, keys, err)))
	}
	var message store.PostedMessage
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		return nil, fmt.Errorf("message %d of channel %s: %w", number, channel.Name, err)
	}
	return &message, nil
}
