package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"slackrelay/lua"
	"slackrelay/store"
)

// markJSON is a mark as lua/mark.lua reads it.
type markJSON struct {
	User    string `json:"user,omitempty"`
	Name    string `json:"name,omitempty"`
	Silence string `json:"silence,omitempty"`
}

// Mark implements [store.Queue].
func (r *Store) Mark(
	ctx context.Context, channel store.Channel, change store.MarkChange,
) (result store.MarkResult, message *store.PostedMessage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mark message %d of channel %s: %w", change.Message, channel.Name, err)
		}
	}()
	if err := change.Validate(); err != nil {
		return 0, nil, err
	}
	mark, err := json.Marshal(markJSON{User: change.Mark.User, Name: change.Mark.Name, Silence: change.Mark.Silence})
	if err != nil {
		return 0, nil, err
	}
	duration := change.For.Microseconds()
	if change.Remove {
		duration = -1
	}
	k := channel.Keys()
	keys := []string{k.Posted(), k.Extras(), k.Entries(), lua.DueIndex}
	reply, err := r.run(ctx, lua.Mark, keys, change.Message, change.Place.Channel, change.Place.TS, string(change.Kind), mark, duration)
	if err != nil {
		return 0, nil, err
	}
	return decodeMarked(reply)
}

// decodeMarked reads the reply of lua/mark.lua: [result, message].
func decodeMarked(reply []any) (store.MarkResult, *store.PostedMessage, error) {
	if len(reply) != 2 {
		return 0, nil, fmt.Errorf("reply of %d values", len(reply))
	}
	code, isInt := reply[0].(int64)
	text, isText := reply[1].(string)
	if !isInt || !isText || code < 0 || code > int64(store.MarkOver) {
		return 0, nil, fmt.Errorf("reply %v is not understood", reply)
	}
	if text == "" {
		return store.MarkResult(code), nil, nil
	}
	var message store.PostedMessage
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		return 0, nil, err
	}
	return store.MarkResult(code), &message, nil
}
