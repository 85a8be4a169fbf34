package memory

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"slackrelay/store"
)

// What a message tells of is followed until all of it is over, as in lua/admit.lua.
const (
	maxBundled = 10       // events of a bundle that a message lists; the others are counted
	maxBundle  = 64 << 10 // bytes of those that it lists
	maxMembers = 2000     // that are followed beyond those
	maxBefore  = 16       // messages that told of the same alerts before, and are told when they are over
)

// toldState is what a message says of an alert.
type toldState int

const (
	toldNothing toldState = iota
	toldFiring
	toldOver
)

func toldOf(record *store.PostedMessage, fingerprint string) toldState {
	state := func(at int64) toldState {
		if at > 0 {
			return toldOver
		}
		return toldFiring
	}
	for _, event := range record.Events {
		if event.Fingerprint == fingerprint {
			return state(event.Resolved)
		}
	}
	if at, known := record.Members[fingerprint]; known {
		return state(at)
	}
	return toldNothing
}

// mark has a record say that an alert is over, or that it fires again: at = 0.
func mark(record *store.PostedMessage, fingerprint string, at int64) {
	for i := range record.Events {
		if record.Events[i].Fingerprint == fingerprint {
			record.Events[i].Resolved = at
		}
	}
	if _, known := record.Members[fingerprint]; known {
		record.Members[fingerprint] = at / 1_000_000
	}
}

// fires tells whether anything that a message follows is not over.
func fires(record *store.PostedMessage) bool {
	for _, event := range record.Events {
		if event.Fingerprint != "" && event.Resolved == 0 {
			return true
		}
	}
	for _, at := range record.Members {
		if at == 0 {
			return true
		}
	}
	return false
}

func eventCount(record *store.PostedMessage) int {
	return len(record.Events) + len(record.Members) + int(record.UntrackedResolved) + int(record.Untracked)
}

func isBundle(r *store.Request) bool { return bytes.ContainsRune(r.Payload(), '\n') }

// canEdit: what was told without its text, while the engine was away, cannot be said anew.
func (t *telling) canEdit(record *store.PostedMessage) bool {
	return t.h.Resolves == store.ResolvesEdit && !locationUnknown(record) && len(record.Events) > 0 && record.Events[0].Payload != ""
}

// again is what becomes of a firing: it is counted on the message that tells of it. What was over and fires again is, too,
// while anything else there fires; else it is news.
func (t *telling) again(n int64, record *store.PostedMessage, r *store.Request) verdict {
	if record == nil || !t.h.Repeats || locationUnknown(record) || t.Mode == store.ModePromote && isBundle(r) {
		return verdict{}
	}
	at := t.later(record)
	if toldOf(record, r.Event.Fingerprint) == toldOver {
		if !fires(record) {
			return verdict{}
		}
		mark(record, r.Event.Fingerprint, 0)
		at = t.now
	}
	record.Repeats++
	record.LastRepeat = t.now
	t.edit(n, record, at)
	return verdict{outcome: store.Merged, folded: true}
}

// follow has a message stand for an alert. One that told of it before, and does not know that it is over, is kept in mind.
func (t *telling) follow(n int64, record *store.PostedMessage, fingerprint string) {
	old, older := t.posted.Find("f:" + fingerprint)
	name := strconv.FormatInt(old, 10)
	if older != nil && old != n && toldOf(older, fingerprint) == toldFiring && !slices.Contains(record.Earlier, name) {
		record.Earlier = append(record.Earlier, name)
		if len(record.Earlier) > maxBefore {
			record.Earlier = slices.Delete(record.Earlier, 0, 1)
		}
	}
	t.point("f:"+fingerprint, n)
}

// over has all messages that told of an alert say that it is over, but for the last one where its place is taken. Where they
// can be edited the name stays, so that what fires again is found.
func (t *telling) over(n int64, record *store.PostedMessage, fingerprint string, takenOver bool) {
	ways, met := []string{strconv.FormatInt(n, 10)}, map[string]bool{}
	if takenOver {
		ways = slices.Clone(record.Earlier)
	}
	for at := 0; at < len(ways) && at < 2*maxBefore; at++ {
		way, _ := strconv.ParseInt(ways[at], 10, 64)
		found := t.posted.Record(way)
		if found == nil || met[ways[at]] {
			continue
		}
		met[ways[at]] = true
		if toldOf(found, fingerprint) == toldFiring {
			mark(found, fingerprint, t.now)
			if t.canEdit(found) {
				t.edit(way, found, t.now)
			} else {
				t.touch(way, found)
			}
		}
		ways = append(ways, found.Earlier...)
	}
	if !t.canEdit(record) {
		delete(t.posted.Newest, "f:"+fingerprint)
	}
}

func (t *telling) newRecord(r *store.Request) *store.PostedMessage {
	event := store.PostedEvent{Payload: string(r.Payload())}
	if r.Event.Status != store.Resolved {
		event.Fingerprint = r.Event.Fingerprint
	}
	return &store.PostedMessage{Category: r.Category, At: t.now, Events: []store.PostedEvent{event}}
}

// add has a record tell of one more, the count-th, and tells whether the message lists it.
func add(record *store.PostedMessage, r *store.Request, count int) (listed bool) {
	tell, size := r.Event.Status != store.Resolved && r.Event.Fingerprint != "", len(r.Payload())
	for _, event := range record.Events {
		size += len(event.Payload)
	}
	switch {
	case len(record.Events) < maxBundled && size < maxBundle:
		event := store.PostedEvent{Payload: string(r.Payload())}
		if tell {
			event.Fingerprint = r.Event.Fingerprint
		}
		record.Events = append(record.Events, event)
		return true
	case tell && count <= maxBundled+maxMembers:
		if record.Members == nil {
			record.Members = map[string]int64{}
		}
		record.Members[r.Event.Fingerprint] = 0
	case r.Event.Status == store.Resolved:
		record.UntrackedResolved++
	default:
		record.Untracked++
	}
	return false
}

// adopt has a message that waited for a slot stand for what was told of it meanwhile.
func (t *telling) adopt(n, waited int64, record *store.PostedMessage) {
	t.posted.Forget(waited)
	record.At = t.now
	t.touch(n, record)
	for _, event := range record.Events {
		if event.Fingerprint != "" {
			t.follow(n, record, event.Fingerprint)
		}
	}
	for _, fingerprint := range slices.Sorted(maps.Keys(record.Members)) {
		t.follow(n, record, fingerprint)
	}
	if record.Bundle != "" {
		t.point("b:"+record.Bundle, n)
	}
}
