package ratelimit

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// MultiOptions configure a Multi engine.
type MultiOptions struct {
	// Dedupe is how long an admitted id is remembered. Default 1 h.
	Dedupe time.Duration
	// Overshot is told of refused units that stay counted, because their window ended before they could be
	// taken back safely. Default: nobody is told.
	Overshot func(level string, units int64)
	// UndoMargin is how much longer a window must last for refused units to be taken back from it: the next one
	// must not get them. Default 100 ms.
	UndoMargin time.Duration
}

// Multi is the engine for servers without scripting: counters by INCRBY in a MULTI, decided here. Two round
// trips a call: the first counts, the second writes what became of it.
//
// It is weaker than [Redis] in ways that cannot be helped without scripts. A request is counted at all its
// levels before it is decided, so that for a moment refused units take slots from others; they are taken
// back unless their window is about to end. A process that dies between the two steps leaves its units
// counted until their window ends, and queues nothing; a repeat of an id within pendingFor is told to come
// again. It knows the strategies [FixedWindow] (anchored at the first unit, at most 2L - 1 in any W) and
// [PerSecond] (at most 2L in a rolling second), and neither fairness nor shadow levels.
type Multi struct {
	counters counters
	opts     MultiOptions
}

var _ Limiter = (*Multi)(nil)

// pendingFor is how long an id is kept from others while its call is between its two steps.
const pendingFor = 10 * time.Second

// counters are what a Multi needs of its store; each call is one atomic step.
type counters interface {
	Limiter // for what decides nothing
	now(ctx context.Context) (time.Time, error)
	// count adds units to windows, and claims ids; look does the same without adding or claiming.
	count(ctx context.Context, scope Scope, all []counted) ([]count, error)
	look(ctx context.Context, scope Scope, all []counted) ([]count, error)
	// conclude writes the outcomes: what was admitted is remembered and queued, the rest is taken back.
	conclude(ctx context.Context, scope Scope, all []concluded, dedupe time.Duration) error
}

// counted is a request with the counters of its windows, in the order of its levels.
type counted struct {
	*Request
	windows []counter
}

type counter struct {
	key   string
	level *Level
	Window
	next time.Duration // PerSecond: until the next second; the key of this one is kept a little longer
}

// count is what a request found: its id, and each window after its units were added.
type count struct {
	id      idState
	number  int64 // of its entry, should it be admitted
	totals  []int64
	endings []time.Duration // until each window ends; 0 = it has not begun
}

type idState int

const (
	idNew idState = iota
	idPending
	idAdmitted
)

// concluded is a request with its outcome.
type concluded struct {
	counted
	decision Decision
	outcome  Outcome
	number   int64
	undo     []bool // for each window: take the units back
}

func newMulti(c counters, opts MultiOptions) *Multi {
	if opts.Dedupe == 0 {
		opts.Dedupe = DefaultDedupe
	}
	if opts.UndoMargin == 0 {
		opts.UndoMargin = 100 * time.Millisecond
	}
	if opts.Overshot == nil {
		opts.Overshot = func(string, int64) {}
	}
	return &Multi{counters: c, opts: opts}
}

// Admit implements [Limiter].
func (m *Multi) Admit(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	all, err := m.prepare(ctx, requests)
	if err != nil {
		return nil, err
	}
	counts, err := m.counters.count(ctx, scope, all)
	if err != nil {
		return nil, fmt.Errorf("count in channel %s: %w", scope.Channel, err)
	}
	decisions, ends := make([]Decision, len(all)), make([]concluded, len(all))
	outcomes, refused := map[string]Outcome{}, map[string]int64{} // of ids, and units of counters, in this call
	for i := range all {
		switch before, repeated := outcomes[all[i].ID]; {
		case repeated && before != Admitted:
			counts[i].id = idNew // the claim is this call's own
		case repeated:
			counts[i].id = idAdmitted
		case counts[i].id == idPending:
			err = fmt.Errorf("%w: id %s is being decided by another call", ErrUnavailable, all[i].ID)
		}
		for w, counter := range all[i].windows {
			counts[i].totals[w] -= refused[counter.key] // what this call itself takes back
		}
		decisions[i] = decideCounts(all[i], counts[i])
		decisions[i].Durable = m.Durable()
		if decisions[i].Outcome != Duplicate {
			outcomes[all[i].ID] = decisions[i].Outcome
		}
		for _, counter := range all[i].windows {
			if decisions[i].Outcome != Admitted {
				refused[counter.key] += all[i].units()
			}
		}
		ends[i] = concluded{counted: all[i], decision: decisions[i], outcome: decisions[i].Outcome, number: counts[i].number}
		ends[i].undo = m.undo(all[i], counts[i], decisions[i].Outcome)
	}
	if err != nil { // nothing is concluded; what was counted runs out with its windows
		return nil, err
	}
	if err := m.counters.conclude(ctx, scope, ends, m.opts.Dedupe); err != nil {
		return nil, fmt.Errorf("conclude in channel %s: %w", scope.Channel, err)
	}
	return decisions, nil
}

// Peek implements [Limiter].
func (m *Multi) Peek(ctx context.Context, scope Scope, requests []Request) ([]Decision, error) {
	all, err := m.prepare(ctx, requests)
	if err != nil {
		return nil, err
	}
	counts, err := m.counters.look(ctx, scope, all)
	if err != nil {
		return nil, fmt.Errorf("look in channel %s: %w", scope.Channel, err)
	}
	decisions := make([]Decision, len(all))
	for i := range all {
		decisions[i] = decideCounts(all[i], counts[i])
	}
	return decisions, nil
}

// Refund implements [Limiter]. Without scripts it cannot be known whether a window is still the one that the
// request was counted in, nor whether it was given back before: it gives nothing back.
func (*Multi) Refund(context.Context, Scope, Request) error { return nil }

// Mute implements [Limiter].
func (m *Multi) Mute(ctx context.Context, scope Scope, n int64) error {
	return m.counters.Mute(ctx, scope, n)
}

// Reset implements [Limiter]. The counters of the running second are left to end by themselves.
func (m *Multi) Reset(ctx context.Context, levels ...Level) error {
	var plain []Level
	for _, level := range levels {
		for _, w := range level.Windows {
			window := level
			window.Key += ":" + strconv.FormatInt(w.Per.Milliseconds(), 10)
			plain = append(plain, window)
		}
	}
	return m.counters.Reset(ctx, plain...)
}

// Report implements [Limiter].
func (m *Multi) Report(ctx context.Context, scope Scope) (Report, error) {
	return m.counters.Report(ctx, scope)
}

// Drops implements [Limiter].
func (m *Multi) Drops(ctx context.Context, scope Scope, before string, most int) ([]Drop, error) {
	return m.counters.Drops(ctx, scope, before, most)
}

// Minutes implements [Limiter].
func (m *Multi) Minutes(ctx context.Context, scope Scope, back time.Duration) (time.Time, []MinuteCount, error) {
	return m.counters.Minutes(ctx, scope, back)
}

// Categories implements [Limiter].
func (m *Multi) Categories(ctx context.Context, scope Scope) ([]CategoryCounts, error) {
	return m.counters.Categories(ctx, scope)
}

// Warming implements [Limiter]: a counter of a fixed window has nothing to fill first.
func (*Multi) Warming(_ context.Context, _ Scope, tiers []Tier) ([]time.Duration, error) {
	return make([]time.Duration, len(tiers)), nil
}

// Ping implements [Limiter].
func (m *Multi) Ping(ctx context.Context) error { return m.counters.Ping(ctx) }

// Durable implements [Limiter].
func (m *Multi) Durable() bool { return m.counters.Durable() }
