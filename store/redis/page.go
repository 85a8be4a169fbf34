package redis

import (
	"context"
	"fmt"
	"strconv"

	"slackrelay/lua"
	"slackrelay/store"
)

// Drops implements [store.Counts].
func (r *Store) Drops(ctx context.Context, channel store.Channel, before string, most int) ([]store.Drop, error) {
	page, err := lua.ReadPage(ctx, r.scripter, channel.Keys().Drops(), before, most)
	if err != nil {
		return nil, fmt.Errorf("drops of channel %s: %w", channel.Name, scriptError(err))
	}
	drops := make([]store.Drop, len(page))
	for i, row := range page {
		drops[i] = store.ParseDrop(row.Fields)
		drops[i].ID = row.ID
		drops[i].At = row.At
	}
	return drops, nil
}

// DeadLetters implements [store.DeadLetters].
func (r *Store) DeadLetters(ctx context.Context, channel store.Channel, before string, most int) ([]store.DeadLetter, error) {
	page, err := lua.ReadPage(ctx, r.scripter, channel.Keys().Dead(), before, most)
	if err != nil {
		return nil, fmt.Errorf("dead letters of channel %s: %w", channel.Name, scriptError(err))
	}
	letters := make([]store.DeadLetter, len(page))
	for i, row := range page {
		letters[i] = decodeDeadLetter(row)
	}
	return letters, nil
}

func decodeDeadLetter(row lua.Row) store.DeadLetter {
	letter := store.DeadLetter{ID: row.ID, At: row.At, Reason: row.Fields["reason"], Answer: row.Fields["answer"]}
	letter.Number, _ = strconv.ParseInt(row.Fields["number"], 10, 64)
	letter.Attempts, _ = strconv.ParseInt(row.Fields["attempts"], 10, 64)
	_, letter.Kind, letter.Payload = splitEntry([]byte(row.Fields["entry"]))
	return letter
}
