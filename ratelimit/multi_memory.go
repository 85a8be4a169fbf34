package ratelimit

import (
	"context"
	"time"

	"slackrelay/lua/memstore"
)

// NewMultiMemory is the twin of [NewMulti] in memory.
func NewMultiMemory(store *memstore.Store, opts MultiOptions) *Multi {
	return newMulti(&memoryCounters{NewMemory(store, opts.Dedupe)}, opts)
}

// memoryCounters are counters in memory.
type memoryCounters struct{ *Memory }

var _ counters = (*memoryCounters)(nil)

// tallied is a counter that began at a time.
type tallied struct{ n, ends int64 }

// claim says who has an id.
type claim struct{ state idState }

func (c *memoryCounters) now(context.Context) (now time.Time, err error) {
	c.store.Do(func(tx *memstore.Tx) { now = tx.Time })
	return now, nil
}

func (c *memoryCounters) count(_ context.Context, scope Scope, all []counted) ([]count, error) {
	counts := make([]count, len(all))
	c.store.Do(func(tx *memstore.Tx) {
		box := memstore.Value[memstore.Outbox](tx, scope.keys().Outbox())
		for i, r := range all {
			counts[i] = count{id: stateOfID(tx, scope, r.ID), number: box.Seq + int64(i) + 1}
			if counts[i].id == idNew {
				memstore.Value[claim](tx, claimKey(scope, r.ID)).state = idPending
				tx.Expire(claimKey(scope, r.ID), pendingFor)
			}
			for _, w := range r.windows {
				t := memstore.Look[tallied](tx, w.key)
				if t == nil {
					t = &tallied{ends: tx.Now + w.ending().Microseconds()}
					tx.Put(w.key, t)
					tx.Expire(w.key, w.ending())
				}
				t.n += r.units()
				counts[i].totals = append(counts[i].totals, t.n)
				counts[i].endings = append(counts[i].endings, micros(t.ends-tx.Now))
			}
		}
		box.Seq += int64(len(all))
	})
	return counts, nil
}

func stateOfID(tx *memstore.Tx, scope Scope, id string) idState {
	if c := memstore.Look[claim](tx, claimKey(scope, id)); c != nil {
		return c.state
	}
	return idNew
}

func (c *memoryCounters) look(_ context.Context, scope Scope, all []counted) ([]count, error) {
	counts := make([]count, len(all))
	c.store.Do(func(tx *memstore.Tx) {
		for i, r := range all {
			counts[i].id = stateOfID(tx, scope, r.ID)
			for _, w := range r.windows {
				t := memstore.LookOrNew[tallied](tx, w.key)
				counts[i].totals = append(counts[i].totals, t.n+r.units())
				counts[i].endings = append(counts[i].endings, max(0, micros(t.ends-tx.Now)))
			}
		}
	})
	return counts, nil
}

func (c *memoryCounters) conclude(_ context.Context, scope Scope, all []concluded, dedupe time.Duration) error {
	c.store.Do(func(tx *memstore.Tx) {
		ledger := memstore.Value[memstore.Counts](tx, scope.keys().Ledger())
		for _, r := range all {
			for w, undo := range r.undo {
				if t := memstore.Look[tallied](tx, r.windows[w].key); undo && t != nil {
					t.n -= r.units()
				}
			}
			outcome := r.outcome
			if outcome == Never {
				outcome = Dropped
			}
			switch outcome {
			case Admitted:
				memstore.Value[claim](tx, claimKey(scope, r.ID)).state = idAdmitted
				tx.Expire(claimKey(scope, r.ID), dedupe)
				if r.Handling != nil && r.Handling.Digest {
					noteHeard(tx, scope, r.Category)
				}
				if r.Enqueue != nil {
					box := memstore.Value[memstore.Outbox](tx, scope.keys().Outbox())
					box.Entries = append(box.Entries, memstore.Entry{
						Number: r.number, At: tx.Now, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
					})
				}
			case Dropped:
				tx.Delete(claimKey(scope, r.ID))
				keepConcluded(tx, scope, r)
			default:
			}
			ledger.Add("received", 1)
			ledger.Add(outcome.String(), 1)
			if outcome != Duplicate {
				countInSeries(tx, scope, r.Category, outcome, 1)
			}
		}
	})
	return nil
}
