package ratelimit

import (
	"fmt"
	"time"
)

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
		return fmt.Errorf("it needs a key and at least one window")
	}
	for i, w := range l.Windows {
		if w.Limit < 0 || w.Per < time.Microsecond {
			return fmt.Errorf("a window needs a limit of 0 or more and a length of 1 µs or more")
		}
		for _, other := range l.Windows[:i] {
			if other.Per == w.Per {
				return fmt.Errorf("two windows have the length %s; keep the smaller limit", w.Per)
			}
		}
	}
	if l.Strategy.EffectiveKind() == Backlog && len(l.Windows) > 1 {
		return fmt.Errorf("a backlog has one limit, and no windows")
	}
	return l.Strategy.check()
}

func Longest(windows []Window) time.Duration {
	var per time.Duration
	for _, w := range windows {
		per = max(per, w.Per)
	}
	return per
}

func Largest(windows []Window) (limit int64) {
	for _, w := range windows {
		limit = max(limit, w.Limit)
	}
	return limit
}

// Window admits at most Limit units in any half-open interval of length Per.
type Window struct {
	Limit int64
	Per   time.Duration
}

// Tier describes one level before it is known whose it is: the channel, each category, each sender.
type LevelSpec struct {
	Name     string   // "channel", "category", "sender", or a label's name: used in replies and metrics
	Windows  []Window // every one must pass; different lengths
	Strategy Strategy // the sliding log by default
	Shadow   bool     // evaluate and report, never refuse
}

func (t LevelSpec) At(key string) Level {
	return Level{Name: t.Name, Key: key, Windows: t.Windows, Strategy: t.Strategy, Shadow: t.Shadow}
}

// Level is one tier of the limiter for one of its values. Make one with [Tier.Outer], [Tier.Of], or for the
// plain sliding log with [Outer] and [Inner].
type Level struct {
	Name     string // "channel", "category", ...: used in replies and metrics
	Key      string // where its state is; all levels of a call share one hash tag
	Windows  []Window
	Strategy Strategy
	Shadow   bool // evaluate and report, never refuse
}

// The names of the levels that fairness is about.
const (
	LevelChannel  = "channel"
	LevelCategory = "category"
)
