package ratelimit

import (
	"context"
	"math"
	"time"

	"slackrelay/lua/memstore"
)

// Memory is the engine of a single process without Redis. It decides exactly as [Redis] does and shares
// its Store with the in-memory outbox. It is not durable.
type Memory struct {
	store  *memstore.Store
	dedupe int64 // microseconds
	by     DecidedBy
}

var _ engine = (*Memory)(nil)

// NewMemory makes a Memory engine. A dedupe time of 0 means 1 h.
func NewMemory(store *memstore.Store, dedupe time.Duration) *Memory {
	if dedupe == 0 {
		dedupe = DefaultDedupe
	}
	return &Memory{store: store, dedupe: dedupe.Microseconds(), by: ByMemory}
}

// Durable is false: what is pending ends with the process.
func (*Memory) Durable() bool { return false }

// Ping always succeeds.
func (*Memory) Ping(context.Context) error { return nil }

// Admit implements [Limiter].
func (m *Memory) Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	answer, err := m.decide(ctx, modeAdmit, scope, requests)
	return answer.decisions, err
}

// Peek implements [Limiter].
func (m *Memory) Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	answer, err := m.decide(ctx, modePeek, scope, requests)
	return answer.decisions, err
}

func (m *Memory) decide(_ context.Context, mode mode, scope Scope, requests []Request) (answer, error) {
	if err := check(requests); err != nil {
		return answer{}, err
	}
	var a answer
	m.store.Do(func(tx *memstore.Tx) { a = m.batch(tx, mode, scope, requests).run(requests) })
	return a, nil
}

// Mute implements [Limiter].
func (m *Memory) Mute(_ context.Context, scope Scope, n int64) error {
	m.store.Do(func(tx *memstore.Tx) {
		ledger := memstore.Value[memstore.Counts](tx, scope.keys().Ledger())
		ledger.Add("received", n)
		ledger.Add("muted", n)
	})
	return nil
}

// Refund implements [Limiter]. It follows lua/refund.lua.
func (m *Memory) Refund(_ context.Context, scope Scope, request Request) error {
	if err := check([]Request{request}); err != nil {
		return err
	}
	m.store.Do(func(tx *memstore.Tx) {
		refunds := memstore.Value[seenIDs](tx, scope.keys().Refunds())
		if refunds.has(request.ID, math.MinInt64) {
			return
		}
		at := memstore.Value[seenIDs](tx, scope.keys().Seen()).when(request.ID)
		given := false
		for i := range request.Levels {
			level := &request.Levels[i]
			s := stateOf(tx, level)
			if s.refund(tx.Now, level, at, taken{id: request.ID, units: request.units()}) {
				tx.Replace(level.Key, s.value())
				given = true
			}
		}
		if given {
			refunds.add(request.ID, tx.Now, tx.Now-m.dedupe)
		}
	})
	return nil
}

// Reset implements [Limiter].
func (m *Memory) Reset(_ context.Context, levels ...Level) error {
	m.store.Do(func(tx *memstore.Tx) {
		for _, level := range levels {
			tx.Delete(level.Key)
		}
	})
	return nil
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
			report.Oldest = micros(tx.Now - head.At)
		}
		report.Ledger = ledgerOf(memstore.Look[memstore.Counts](tx, names.Ledger()).All(), pending)
		pause := memstore.LookOrNew[memstore.Pause](tx, names.Pause())
		switch {
		case pause.Until > tx.Now:
			report.PausedFor, report.PauseReason = micros(pause.Until-tx.Now), pause.Reason
		case pause.Settling > tx.Now:
			report.PausedFor, report.PauseReason = micros(pause.Settling-tx.Now), Settling
		}
	})
	return report, nil
}

// Minutes implements [Limiter].
func (m *Memory) Minutes(_ context.Context, scope Scope, back time.Duration) (now time.Time, all []MinuteCount, err error) {
	m.store.Do(func(tx *memstore.Tx) {
		now, all, err = readMinutes(tx.Time, back, func(hour time.Time) (map[string]int64, error) {
			return memstore.Look[memstore.Counts](tx, scope.keys().Minutes(hour)).All(), nil
		})
	})
	return now, all, err
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
