package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// The names of the levels that fairness is about.
const (
	LevelChannel  = "channel"
	LevelCategory = "category"
)

// LevelSpec describes a level before it is known whose it is: the channel's, each category's, each sender's. For
// example, 10 events in any half hour for each category:
//
//	ratelimit.LevelSpec{Name: "category", Windows: []ratelimit.Window{{Limit: 10, Per: 30 * time.Minute}}}
type LevelSpec struct {
	Name     string   // "channel", "category", "sender", or the name of a label; used in replies and metrics
	Windows  []Window // all must pass; of different lengths
	Strategy Strategy // how units are counted; the zero value is the sliding log
	Shadow   bool     // evaluate and report, never refuse
}

// At returns the level whose state is kept under a key.
func (s LevelSpec) At(key string) Level {
	return Level{Name: s.Name, Key: key, Windows: s.Windows, Strategy: s.Strategy, Shadow: s.Shadow}
}

// Level is a limit for one value: this channel, this category. Package store makes it of a [LevelSpec].
type Level struct {
	Name     string // "channel", "category", ...; used in replies and metrics
	Key      string // where its state is kept
	Windows  []Window
	Strategy Strategy
	Shadow   bool // evaluate and report, never refuse
}

// Capacity is how many units a window of the level holds when it is full.
func (l Level) Capacity(w Window) int64 {
	if capacity := l.Strategy.method().capacity; capacity != nil {
		return capacity(&l, w)
	}
	return w.Limit
}

// Option is the strategy's number in a plan for the scripts; 0 where it has none.
func (l *Level) Option() int64 {
	if option := l.Strategy.method().option; option != nil {
		return option(l)
	}
	return 0
}

// State returns a copy of the level's state: a refusal leaves what is kept unchanged. kept is what [State.Value]
// returned last; nil = nothing was spent yet.
func (l Level) State(kept any) State { return l.Strategy.method().state(kept) }

// CheckLevels returns an error that names the first level that makes no sense.
func CheckLevels(levels []Level) error {
	for i := range levels {
		if err := levels[i].check(); err != nil {
			return fmt.Errorf("level %q: %w", levels[i].Name, err)
		}
	}
	return nil
}

func (l *Level) check() error {
	if l.Key == "" || len(l.Windows) == 0 {
		return errors.New("it needs a key and at least one window")
	}
	for i, w := range l.Windows {
		if w.Limit < 0 || w.Per < time.Microsecond {
			return errors.New("a window needs a limit of 0 or more and a length of 1 µs or more")
		}
		for _, other := range l.Windows[:i] {
			if other.Per == w.Per {
				return fmt.Errorf("two windows have the length %s; keep the smaller limit", w.Per)
			}
		}
	}
	if l.Strategy.EffectiveKind() == Backlog && len(l.Windows) > 1 {
		return errors.New("a backlog has one limit, and no windows")
	}
	return l.Strategy.check()
}
