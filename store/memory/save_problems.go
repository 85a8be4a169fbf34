package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"slackrelay/store"
)

const (
	// problemsAtOnce is how many documents of each kind leave with one call.
	problemsAtOnce = 200
	// problemsMargin is how long the key outlives its documents.
	problemsMargin = time.Minute
)

// SaveProblems implements [store.Problems]. It is the twin of lua/save_problems.lua.
func (s *Store) SaveProblems(
	_ context.Context, channel store.Channel, changes []store.ProblemChange, counts store.ProblemCounts,
) (saved bool, err error) {
	if err := store.CheckProblemChanges(changes); err != nil {
		return false, err
	}
	s.do(channel, func(tx channelTx) {
		documents := tx.lookProblems()
		for _, c := range changes {
			if documents.find(c.Name, tx.now).Version != c.Version {
				return
			}
		}
		forgotten := documents.forgotten(changes, tx.now)
		given, fits := documents.makeRoom(changes, forgotten, s.opts.Problems, tx.now)
		if !fits {
			err = store.ErrProblemsFull
			return
		}
		saved = true
		for _, name := range append(forgotten, given...) {
			documents.remove(name)
		}
		tx.writeProblems(documents, changes)
		ledger := tx.ledger()
		for name, n := range counts.Totals() {
			ledger[name] += n
		}
	})
	return saved, err
}

// writeProblems writes the changes, and notes when to look at the channel.
func (tx channelTx) writeProblems(documents *problems, changes []store.ProblemChange) {
	if len(changes) == 0 {
		return
	}
	documents.version = max(tx.now, documents.version+1)
	for _, c := range changes {
		documents.remove(c.Name)
		after := changed(c, documents.version, tx.now)
		if len(c.Data) > 0 {
			documents.put(after)
		}
		tx.keep(tx.keys.Problems(), documents, max(0, store.Microseconds(after.endsAt-tx.now))+problemsMargin)
	}
	tx.lookAt(store.WorkProblem, documents.firstWake(tx.now))
}

// changed returns the document that a change leaves.
func changed(c store.ProblemChange, version, now int64) problem {
	p := problem{Problem: store.Problem{Name: c.Name, Version: version, Wake: c.Wake, Data: bytes.Clone(c.Data)}}
	p.endsAt = now + c.Keep.Microseconds()
	if c.Wake > 0 {
		p.endsAt = c.Wake + store.ProblemsOverdue.Microseconds()
	}
	return p
}

// forgotten returns documents that have ended, but none that is changed.
func (p *problems) forgotten(changes []store.ProblemChange, now int64) (names []string) {
	ended := until(p.ends, now, problemsAtOnce)
	overdue := until(p.wakes, now-store.ProblemsOverdue.Microseconds(), problemsAtOnce)
	for _, one := range slices.Concat(ended, overdue) {
		if !isChanged(changes, one.name) {
			names = append(names, one.name)
		}
	}
	return names
}

func isChanged(changes []store.ProblemChange, name string) bool {
	return slices.ContainsFunc(changes, func(c store.ProblemChange) bool { return c.Name == name })
}

// makeRoom returns the documents that make room for the changes, and whether that is enough. A change that needs no more
// room than before always fits.
func (p *problems) makeRoom(changes []store.ProblemChange, leaving []string, most, now int64) (names []string, fits bool) {
	count, size, grows := len(p.all), p.bytes, false
	for _, c := range changes {
		before, existed := p.all[c.Name]
		after := 0
		if existed {
			size -= before.bytes()
			count--
		}
		if len(c.Data) > 0 {
			after = changed(c, now, now).bytes()
			count++
		}
		size += after
		grows = grows || after > 0 && (!existed || after > before.bytes())
	}
	for _, name := range leaving {
		count--
		size -= p.all[name].bytes()
	}
	isFull := func() bool { return int64(count) > most || size > store.MaxProblemsBytes }
	for _, one := range p.ends[:min(len(p.ends), problemsAtOnce)] {
		if !isFull() {
			break
		}
		if isChanged(changes, one.name) || slices.Contains(leaving, one.name) {
			continue
		}
		names = append(names, one.name)
		count--
		size -= p.all[one.name].bytes()
	}
	return names, !grows || !isFull()
}
