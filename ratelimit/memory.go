package ratelimit

import (
	"context"
	"fmt"
	"sort"
	"time"

	"slackrelay/lua/memstore"
)

// Memory is the engine of a single process without Redis. It decides exactly as [Redis] does and shares
// its Store with the in-memory outbox. It is not durable.
type Memory struct {
	store  *memstore.Store
	dedupe time.Duration
}

var _ Limiter = (*Memory)(nil)

// NewMemory makes a Memory engine. A dedupe time of 0 means 1 h.
func NewMemory(store *memstore.Store, dedupe time.Duration) *Memory {
	if dedupe == 0 {
		dedupe = DefaultDedupe
	}
	return &Memory{store: store, dedupe: dedupe}
}

// Durable is false: what is pending ends with the process.
func (*Memory) Durable() bool { return false }

// Ping always succeeds.
func (*Memory) Ping(context.Context) error { return nil }

// Admit implements [Limiter]. It follows lua/admit.lua step by step.
func (m *Memory) Admit(_ context.Context, scope Scope, requests []Request) ([]Decision, error) {
	if err := check(requests); err != nil {
		return nil, err
	}
	decisions := make([]Decision, len(requests))
	m.store.Do(func(tx *memstore.Tx) {
		for i, r := range requests {
			decisions[i] = m.decide(tx, scope, r)
			decisions[i].DecidedBy = ByMemory
			count(tx, scope, r.Category, decisions[i].Outcome)
		}
	})
	return decisions, nil
}

func (m *Memory) decide(tx *memstore.Tx, scope Scope, r Request) Decision {
	seen := memstore.Value[seenIDs](tx, scope.keys().Seen())
	if seen.has(r.ID, tx.Now-m.dedupe.Microseconds()) {
		return Decision{Outcome: Duplicate}
	}
	d := Decision{Outcome: Admitted}
	refused, retryAt, never := refusal(tx, r)
	switch {
	case never:
		d.Outcome = Never
	case refused != 0:
		d.Outcome = Dropped
		d.RetryAfter = time.Duration(retryAt-tx.Now) * time.Microsecond
	default:
		m.commit(tx, scope, r)
		seen.add(r.ID, tx.Now, tx.Now-m.dedupe.Microseconds())
	}
	d.refusedBy(r, refused)
	return d
}

func refusal(tx *memstore.Tx, r Request) (refused, retryAt int64, never bool) {
	retryAt = tx.Now
	for i, level := range r.Levels {
		log := memstore.Look[admissions](tx, level.Key)
		for _, w := range level.Windows {
			if r.units() > w.Limit {
				never = true
				refused |= 1 << i
				continue
			}
			if fits := log.edge(w.Limit-r.units()) + w.Per.Microseconds(); fits > tx.Now && log.holds(w.Limit-r.units()) {
				refused |= 1 << i
				retryAt = max(retryAt, fits)
			}
		}
	}
	return refused, retryAt, never
}

func (m *Memory) commit(tx *memstore.Tx, scope Scope, r Request) {
	for _, level := range r.Levels {
		log, kept := memstore.Value[admissions](tx, level.Key), longest(level.Windows)
		log.add(tx.Now, r.units(), tx.Now-kept.Microseconds())
		tx.Expire(level.Key, kept+time.Minute)
	}
	box := memstore.Value[memstore.Outbox](tx, scope.keys().Outbox())
	box.Seq++
	if r.Enqueue != nil {
		box.Entries = append(box.Entries, memstore.Entry{
			Number: box.Seq, At: tx.Now, Kind: string(r.Enqueue.Kind), Payload: r.Enqueue.Payload,
		})
	}
}

const (
	maxCategories = 1000
	seriesFor     = 25 * time.Hour
)

func count(tx *memstore.Tx, scope Scope, category string, outcome Outcome) {
	ledger := memstore.Value[memstore.Counts](tx, scope.keys().Ledger())
	ledger.Add("received", 1)
	if outcome == Never {
		outcome = Dropped
	}
	ledger.Add(outcome.String(), 1)
	if outcome == Duplicate {
		return
	}
	key := scope.keys().Series(tx.Time)
	series := memstore.Value[memstore.Counts](tx, key)
	if !series.Has(category + ":admitted") {
		if series.Len() >= 2*maxCategories {
			category = "other"
		}
		series.Add(category+":admitted", 0)
		series.Add(category+":dropped", 0)
		tx.Expire(key, seriesFor)
	}
	series.Add(category+":"+outcome.String(), 1)
}

// Peek implements [Limiter].
func (m *Memory) Peek(_ context.Context, levels []Level) ([]Usage, error) {
	if err := checkLevels(levels); err != nil {
		return nil, fmt.Errorf("peek: %w: %w", ErrRequest, err)
	}
	var usage []Usage
	m.store.Do(func(tx *memstore.Tx) {
		for _, level := range levels {
			log := memstore.Look[admissions](tx, level.Key)
			for _, w := range level.Windows {
				usage = append(usage, Usage{
					Level: level.Name, Window: w,
					Used: log.since(tx.Now - w.Per.Microseconds()), RetryAfter: retryAfterOne(log, w, tx.Now),
				})
			}
		}
	})
	return usage, nil
}

func retryAfterOne(log *admissions, w Window, now int64) time.Duration {
	if w.Limit < 1 {
		return -1
	}
	if !log.holds(w.Limit - 1) {
		return 0
	}
	return time.Duration(max(0, log.edge(w.Limit-1)+w.Per.Microseconds()-now)) * time.Microsecond
}

// Report implements [Limiter].
func (m *Memory) Report(_ context.Context, scope Scope) (Report, error) {
	var report Report
	names := scope.keys()
	m.store.Do(func(tx *memstore.Tx) {
		box := memstore.Look[memstore.Outbox](tx, names.Outbox())
		var pending int64
		if head := box.Head(); head != nil {
			pending = int64(len(box.Entries))
			report.Oldest = time.Duration(tx.Now-head.At) * time.Microsecond
		}
		report.Ledger = ledgerOf(memstore.Look[memstore.Counts](tx, names.Ledger()).All(), pending)
		if pause := memstore.Look[memstore.Pause](tx, names.Pause()); pause != nil && pause.Until > tx.Now {
			report.PausedFor = time.Duration(pause.Until-tx.Now) * time.Microsecond
			report.PauseReason = pause.Reason
		}
	})
	return report, nil
}

// Categories implements [Limiter].
func (m *Memory) Categories(_ context.Context, scope Scope) ([]CategoryCounts, error) {
	sums := map[string]int64{}
	m.store.Do(func(tx *memstore.Tx) {
		for i := range seriesHours {
			key := scope.keys().Series(tx.Time.Add(-time.Duration(i) * time.Hour))
			for field, n := range memstore.Look[memstore.Counts](tx, key).All() {
				sums[field] += n
			}
		}
	})
	return categoriesOf(sums), nil
}

// admissions are the times of what one level admitted, oldest first, one a unit. It works on nil.
type admissions struct{ at []int64 }

// holds tells whether there is a k-th newest entry, from 0.
func (a *admissions) holds(k int64) bool { return a != nil && k < int64(len(a.at)) }

// edge is the time of the k-th newest entry, from 0; it is 0 when there is none.
func (a *admissions) edge(k int64) int64 {
	if !a.holds(k) {
		return 0
	}
	return a.at[int64(len(a.at))-1-k]
}

// since counts what came after the given time.
func (a *admissions) since(after int64) int64 {
	if a == nil {
		return 0
	}
	i := sort.Search(len(a.at), func(i int) bool { return a.at[i] > after })
	return int64(len(a.at) - i)
}

// add appends units and forgets what is not after the given time.
func (a *admissions) add(now, units, forget int64) {
	a.at = a.at[len(a.at)-int(a.since(forget)):]
	for range units {
		a.at = append(a.at, now)
	}
}

// seenIDs remembers when each id was admitted.
type seenIDs struct {
	at    map[string]int64
	order []string // oldest first
}

func (s *seenIDs) has(id string, after int64) bool {
	at, ok := s.at[id]
	return ok && at > after
}

func (s *seenIDs) add(id string, now, forget int64) {
	if s.at == nil {
		s.at = map[string]int64{}
	}
	for len(s.order) > 0 && s.at[s.order[0]] <= forget {
		delete(s.at, s.order[0])
		s.order = s.order[1:]
	}
	s.at[id] = now
	s.order = append(s.order, id)
}
