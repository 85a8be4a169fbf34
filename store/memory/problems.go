package memory

import (
	"bytes"
	"context"

	"slackrelay/store"
)

// maxProblemReply bounds a reply of documents, in bytes: it ends with the one that exceeds it.
const maxProblemReply = 256 << 10

// Problems implements [store.Problems]. It is the twin of lua/problems.lua.
func (s *Store) Problems(_ context.Context, channel store.Channel, names []string) (now int64, all []store.Problem, err error) {
	if err := store.CheckProblems(names); err != nil {
		return 0, nil, err
	}
	s.do(channel, func(tx channelTx) {
		now = tx.now
		documents := tx.lookProblems()
		for _, name := range names {
			found := documents.find(name, now).Problem
			found.Name = name
			found.Data = bytes.Clone(found.Data)
			all = append(all, found)
		}
	})
	return now, all, nil
}

// lookProblems returns the documents of the channel, to be read.
func (tx channelTx) lookProblems() *problems {
	if found := Look[problems](tx.Tx, tx.keys.Problems()); found != nil {
		return found
	}
	return &problems{}
}
