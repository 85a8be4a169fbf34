package redis

import (
	"context"
	"fmt"
	"strconv"

	"slackrelay/lua"
	"slackrelay/store"
)

// DeadLetters implements [Outbox].
func (r *Store) DeadLetters(ctx context.Context, channel store.Channel, before string, most int) ([]store.DeadLetter, error) {
	page, err := lua.ReadPage(ctx, r.scripter, channel.Keys().Dead(), before, most)
	if err != nil {
		return nil, fmt.Errorf("dead letters of channel %s: %w", channel.Name, err)
	}
	letters := make([]store.DeadLetter, len(page))
	for i, row := range page {
		letters[i] = store.DeadLetter{ID: row.ID, At: row.At, Reason: row.Fields["reason"], Answer: row.Fields["answer"]}
		letters[i].Number, _ = strconv.ParseInt(row.Fields["number"], 10, 64)
		letters[i].Attempts, _ = strconv.ParseInt(row.Fields["attempts"], 10, 64)
		_, letters[i].Kind, letters[i].Payload = splitEntry([]byte(row.Fields["entry"]))
	}
	return letters, nil
}

// DeleteDead implements [Outbox].
func (r *Store) DeleteDead(ctx context.Context, channel store.Channel, ids ...string) (int, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	n, err := lua.Remove.Run(ctx, r.scripter, []string{channel.Keys().Dead()}, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("delete dead letters of channel %s: %w", channel.Name, err)
	}
	return n, nil
}
