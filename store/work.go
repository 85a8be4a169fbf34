package store

import (
	"cmp"
	"slices"
)

// MaxDue is how much work [Store.Due] returns at most in one call.
const MaxDue = 1000

// WorkKind is what a channel has to do.
type WorkKind string

// The kinds of work.
const (
	WorkSend    WorkKind = "send"    // to claim an entry of its queue, or to write a digest
	WorkPromote WorkKind = "promote" // to decide delayed messages again
	WorkProblem WorkKind = "problem" // to look at documents whose wake time has passed
)

// Work is something that a channel has to do now.
type Work struct {
	Kind    WorkKind
	Channel Channel // as the caller of [Store.Due] named it
}

// TimedWork is a work, and since when it is due, by the store's clock.
type TimedWork struct {
	Work
	At int64 // microseconds
}

// WorkOf returns the work of some channels: the earliest first, at most [MaxDue], and each with its channel as among names
// it. A store calls it with all that is due.
func WorkOf(found []TimedWork, among []Channel) []Work {
	if len(found) == 0 {
		return nil
	}
	byChannel := make(map[Channel][]TimedWork, len(found))
	for _, work := range found {
		work.Channel.Group = work.Channel.LimitGroup()
		byChannel[work.Channel] = append(byChannel[work.Channel], work)
	}
	var known []TimedWork
	for _, channel := range among {
		for _, work := range byChannel[Channel{Group: channel.LimitGroup(), Name: channel.Name}] {
			work.Channel = channel
			known = append(known, work)
		}
	}
	slices.SortStableFunc(known, func(a, b TimedWork) int { return cmp.Compare(a.At, b.At) })
	works := make([]Work, min(len(known), MaxDue))
	for i := range works {
		works[i] = known[i].Work
	}
	return works
}
