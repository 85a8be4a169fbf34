package memory

import (
	"bytes"
	"context"

	"slackrelay/store"
)

// DueProblems implements [store.Problems]. It is the twin of lua/due_problems.lua.
func (s *Store) DueProblems(_ context.Context, channel store.Channel, most int) (now int64, all []store.Problem, err error) {
	s.do(channel, func(tx channelTx) {
		now = tx.now
		documents := tx.lookProblems()
		wakes, size := documents.wakesAt(now), 0
		due := until(wakes, now, most)
		for _, one := range due {
			found := documents.all[one.name].Problem
			found.Data = bytes.Clone(found.Data)
			all = append(all, found)
			if size += len(found.Data); size >= maxProblemReply {
				break
			}
		}
		again := documents.firstWake(now)
		if len(due) > 0 {
			again = now + store.ProblemsLookAgain.Microseconds()
		}
		tx.lookAt(store.WorkProblem, again)
	})
	return now, all, nil
}

// wakesAt returns the wake times of documents that have not ended, earliest first.
func (p *problems) wakesAt(now int64) []timedName {
	ended := until(p.wakes, now-store.ProblemsOverdue.Microseconds(), len(p.wakes))
	return p.wakes[len(ended):]
}

// firstWake returns when the next document wakes; 0 = there is none.
func (p *problems) firstWake(now int64) int64 {
	if wakes := p.wakesAt(now); len(wakes) > 0 {
		return wakes[0].at
	}
	return 0
}
