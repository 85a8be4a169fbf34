package ratelimit

import (
	"fmt"
	"time"
)

// StrategyKind names a way to count. docs/strategies.md compares what each admits, and what it keeps.
type StrategyKind string

// method is how one strategy counts; each has a file of its own.
type method struct {
	kind StrategyKind
	// monotone: a refusal holds until the time that it names, whatever is admitted meanwhile.
	monotone bool
	// tag names the strategy in keys. nil = its kind.
	tag func(Strategy) string
	// check finds options that make no sense. nil = it has none.
	check func(Strategy) error
	// capacity is how many units a window holds when it is full. nil = its limit.
	capacity func(*Level, Window) int64
	// option is its number in a plan for the scripts. nil = 0.
	option func(*Level) int64
	// state returns a copy of what is kept of a level; nil = nothing yet.
	state func(kept any) State
}

// methods are all strategies, in the order in which docs/strategies.md explains them.
var methods = []*method{&slidingLog, &slidingBuckets, &fixedWindow, &slidingCounter, &gcra, &gate, &backlog}

// Strategies lists all strategies, in the order in which docs/strategies.md explains them.
func Strategies() []StrategyKind {
	kinds := make([]StrategyKind, len(methods))
	for i, m := range methods {
		kinds[i] = m.kind
	}
	return kinds
}

// methodOf returns how the strategies of a kind count, or nil if the kind is unknown.
func methodOf(kind StrategyKind) *method {
	for _, m := range methods {
		if m.kind == kind {
			return m
		}
	}
	return nil
}

// Strategy is a way to count, with its options. The zero value is the sliding log. For example, a token bucket that
// admits 5 at once:
//
//	ratelimit.Strategy{Kind: ratelimit.GCRA, Burst: 5}
type Strategy struct {
	Kind   StrategyKind  // "" = SlidingLog
	Bucket time.Duration // SlidingBuckets: width of a bucket; 0 = a sixtieth of the longest window
	Anchor Anchor        // FixedWindow: "" = First
	Burst  int64         // GCRA: units at once; 0 = the window's limit
	Queue  Queue         // Backlog: "" = Stream
}

// EffectiveKind is the kind, or the sliding log where none is set.
func (s Strategy) EffectiveKind() StrategyKind {
	if s.Kind == "" {
		return SlidingLog
	}
	return s.Kind
}

// Tag names the strategy in keys, so that a change of the strategy never reads another's data.
func (s Strategy) Tag() string {
	if tag := s.method().tag; tag != nil {
		return tag(s)
	}
	return string(s.EffectiveKind())
}

// Monotone reports whether a refusal holds until the time that it names, whatever is admitted meanwhile.
func (s Strategy) Monotone() bool { return s.method().monotone }

// method returns how the strategy counts. An unknown kind counts as the sliding log does; check refuses it before.
func (s Strategy) method() *method {
	if m := methodOf(s.EffectiveKind()); m != nil {
		return m
	}
	return &slidingLog
}

func (s Strategy) check() error {
	m := methodOf(s.EffectiveKind())
	if m == nil {
		return fmt.Errorf("strategy %q is unknown", s.Kind)
	}
	if m.check == nil {
		return nil
	}
	return m.check(s)
}
