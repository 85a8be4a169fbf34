package memory

import (
	"context"
	"math"
	"strconv"
	"strings"

	"slackrelay/store"
)

// DeadLetters implements [store.DeadLetters]. It is the twin of lua/page.lua.
func (s *Store) DeadLetters(_ context.Context, channel store.Channel, before string, limit int) ([]store.DeadLetter, error) {
	var page []store.DeadLetter
	s.data.Do(func(tx *Tx) {
		letters, until := lookOrEmpty[deadLetters](tx, channel.Keys().Dead()).all, recordBefore(before)
		for i := len(letters) - 1; i >= 0 && len(page) < limit; i-- {
			if recordNumber(letters[i].ID) < until {
				page = append(page, letters[i])
			}
		}
	})
	return page, nil
}

// Drops implements [store.Counts]. It is the twin of lua/page.lua.
func (s *Store) Drops(_ context.Context, channel store.Channel, before string, limit int) ([]store.Drop, error) {
	var page []store.Drop
	s.data.Do(func(tx *Tx) {
		records, until := lookOrEmpty[dropLog](tx, channel.Keys().Drops()).all, recordBefore(before)
		for i := len(records) - 1; i >= 0 && len(page) < limit; i-- {
			if records[i].id >= until {
				continue
			}
			drop := store.ParseDrop(records[i].fields)
			drop.ID = recordID(records[i].at, records[i].id)
			drop.At = records[i].at
			page = append(page, drop)
		}
	})
	return page, nil
}

// recordBefore returns the number below which the records of a page are; the empty id is above all records.
func recordBefore(id string) int64 {
	if id == "" {
		return math.MaxInt64
	}
	return recordNumber(id)
}

// recordNumber returns the number in an id of [recordID], 0 where it has none.
func recordNumber(id string) int64 {
	_, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
