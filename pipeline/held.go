package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/problem"
	"slackrelay/store"
)

// ProblemLister is the part of a store that an [Archive] calls. See [store.Problems].
type ProblemLister interface {
	ListProblems(ctx context.Context, channel store.Channel, prefix, after string, most int) (now int64, all []store.Problem, err error)
}

// HeldRecord is an event that is not posted for now: a hold, flapping or an inhibition keeps it.
type HeldRecord struct {
	ID          string        `json:"id"`
	Since       time.Time     `json:"since"`
	Until       *time.Time    `json:"until,omitempty"` // when it is posted if nothing happens before; nil = nobody knows
	By          string        `json:"by"`              // "hold", "flapping" or "inhibition <name>"
	Explanation string        `json:"explanation"`
	Event       *events.Event `json:"event,omitempty"` // nil = it cannot be decoded
}

// heldOrder is the place of a record in its list, and its id.
type heldOrder struct{ since, key int64 }

func (o heldOrder) String() string { return fmt.Sprintf("%d-%d", o.since, o.key) }

// compare orders the newest first.
func (o heldOrder) compare(other heldOrder) int {
	return cmp.Or(cmp.Compare(other.since, o.since), cmp.Compare(other.key, o.key))
}

// parseHeldOrder reads an id of a record. An id that is not valid comes after all records.
func parseHeldOrder(id string) heldOrder {
	since, key, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return heldOrder{}
	}
	number, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return heldOrder{}
	}
	return heldOrder{at, number}
}

// listedProblems is how many documents one call lists.
const listedProblems = 500

// Held lists the events of a channel that a hold, flapping or an inhibition keeps, newest first: up to most that are older
// than the id before ("" = all). It reads all documents of problems of the channel, of which there are at most 10,000.
func (a *Archive) Held(ctx context.Context, channel, before string, most int) ([]HeldRecord, error) {
	ch := a.Intake.channel(channel)
	if ch == nil {
		return nil, fmt.Errorf("channel %q: %w", channel, ErrUnknownChannel)
	}
	most = min(max(most, 1), MaxPage)
	kept := []listedEvent{}
	for after := ""; ; {
		_, documents, err := a.Problems.ListProblems(ctx, ch.Scope(), problemOwner+"/", after, listedProblems)
		if err != nil {
			return nil, fmt.Errorf("list the held events of channel %s: %w", channel, err)
		}
		if len(documents) == 0 {
			return recordsOf(kept, most), nil
		}
		for i := range documents {
			if one, ok := keptIn(ch, &documents[i]); ok && (before == "" || parseHeldOrder(before).compare(one.order) < 0) {
				kept = append(kept, one)
			}
		}
		if len(kept) > 2*most { // so that a page of a full channel needs no more memory than two
			slices.SortFunc(kept, compareKept)
			kept = slices.Delete(kept, most, len(kept))
		}
		after = documents[len(documents)-1].Name
	}
}

// listedEvent is an event that is kept, and its place in the list.
type listedEvent struct {
	problem.Kept
	order heldOrder
}

func compareKept(a, b listedEvent) int { return a.order.compare(b.order) }

// keptIn returns what a document keeps. A document that cannot be decoded keeps nothing.
func keptIn(ch *RequestBuilder, document *store.Problem) (kept listedEvent, ok bool) {
	d, err := problem.Decode(document.Data)
	if err != nil {
		return kept, false
	}
	if kept.Kept, ok = d.Kept(problemSettings(ch)); !ok {
		return kept, false
	}
	const digits = 15 // of a number that fits an int64
	key := strings.TrimPrefix(document.Name, problemOwner+"/")
	number, err := strconv.ParseInt(key[:min(len(key), digits)], 16, 64)
	if err != nil {
		return kept, false // not a name that this package makes
	}
	kept.order = heldOrder{kept.Since, number}
	return kept, true
}

// recordsOf returns the first records of a list.
func recordsOf(kept []listedEvent, most int) []HeldRecord {
	slices.SortFunc(kept, compareKept)
	records := make([]HeldRecord, min(most, len(kept)))
	for i := range records {
		one := &kept[i]
		records[i] = HeldRecord{
			ID: one.order.String(), Since: time.UnixMicro(one.Since).UTC(), Until: timeOf(one.Until), By: one.By, Explanation: one.Why,
		}
		if e, err := decodeKept(one.Data); err == nil {
			records[i].Event = &e
		}
	}
	return records
}
