package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"slackrelay/store"
)

// ListProblems implements [store.Problems]. It is the twin of lua/list_problems.lua.
func (s *Store) ListProblems(
	_ context.Context, channel store.Channel, prefix, after string, most int,
) (now int64, all []store.Problem, err error) {
	s.do(channel, func(tx channelTx) {
		now = tx.now
		documents, size := tx.lookProblems(), 0
		for _, name := range slices.Sorted(maps.Keys(documents.all)) {
			if !strings.HasPrefix(name, prefix) || name <= after || documents.all[name].hasEnded(now) {
				continue
			}
			found := documents.all[name].Problem
			found.Data = bytes.Clone(found.Data)
			all = append(all, found)
			if size += len(found.Data); len(all) == most || size >= maxProblemReply {
				return
			}
		}
	})
	return now, all, nil
}
