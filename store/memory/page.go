package memory

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"slackrelay/store"
)

// DeadLetters implements [Outbox].
func (m *Store) DeadLetters(_ context.Context, channel store.Channel, before string, most int) ([]store.DeadLetter, error) {
	var page []store.DeadLetter
	m.data.Do(func(tx *Tx) {
		letters := LookOrNew[DeadLetters](tx, channel.Keys().Dead()).All
		for i := len(letters) - 1; i >= 0 && len(page) < most; i-- {
			if before == "" || place(letters[i].ID) < place(before) {
				page = append(page, letters[i])
			}
		}
	})
	return page, nil
}

// place is the rising part of the id of a dead letter, 0 where it is none.
func place(id string) int64 {
	_, rising, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(rising, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// DeleteDead implements [Outbox].
func (m *Store) DeleteDead(_ context.Context, channel store.Channel, ids ...string) (int, error) {
	n := 0
	m.data.Do(func(tx *Tx) {
		dead := LookOrNew[DeadLetters](tx, channel.Keys().Dead())
		before := len(dead.All)
		dead.All = slices.DeleteFunc(dead.All, func(l store.DeadLetter) bool { return slices.Contains(ids, l.ID) })
		n = before - len(dead.All)
	})
	return n, nil
}
