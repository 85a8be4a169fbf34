package multi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// prepare checks requests and names their counters. The server's time is read only where a name contains it.
func (l *Limiter) prepare(ctx context.Context, requests []ratelimit.Request) ([]call, error) {
	if len(requests) == 0 || len(requests) > ratelimit.MaxBatch {
		return nil, fmt.Errorf("%w: %d requests in one call, want 1 to %d", ratelimit.ErrRequest, len(requests), ratelimit.MaxBatch)
	}
	needsTime := false
	for i := range requests {
		if err := check(&requests[i]); err != nil {
			return nil, fmt.Errorf("%w: request %d: %w", ratelimit.ErrRequest, i, err)
		}
		for _, level := range requests[i].Levels {
			needsTime = needsTime || level.Strategy.Kind == PerSecond
		}
	}
	var now time.Time
	if needsTime {
		var err error
		if now, err = l.counters.now(ctx); err != nil {
			return nil, err
		}
	}
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = call{id: r.ID, claim: l.opts.IDs + ":" + r.ID, units: r.Units()}
		for _, level := range r.Levels {
			calls[i].windows = append(calls[i].windows, windowsOf(level, now)...)
		}
	}
	return calls, nil
}

// windowsOf names the counters of a level. The key of a second contains that second and lives a second longer, so that
// a late call does not begin the counter again.
func windowsOf(level ratelimit.Level, now time.Time) []window {
	windows := make([]window, len(level.Windows))
	for i, w := range level.Windows {
		if level.Strategy.Kind == PerSecond {
			windows[i] = window{
				Window: w, level: level.Name, key: level.Key + ":" + strconv.FormatInt(now.Unix(), 10), lives: 2 * w.Per,
				second: now.Truncate(time.Second).Add(time.Second).Sub(now),
			}
			continue
		}
		windows[i] = window{Window: w, level: level.Name, key: level.Key + ":" + strconv.FormatInt(w.Per.Milliseconds(), 10), lives: w.Per}
	}
	return windows
}

func check(r *ratelimit.Request) error {
	if err := r.CheckID(); err != nil {
		return err
	}
	if len(r.Levels) == 0 {
		return errors.New("it has no levels, want 1 or more")
	}
	if r.Fairness != nil || r.Headroom != 0 {
		return errors.New("fairness and headroom need scripts; multi decides by limits only")
	}
	for i := range r.Levels {
		if err := checkLevel(&r.Levels[i]); err != nil {
			return fmt.Errorf("level %q: %w", r.Levels[i].Name, err)
		}
	}
	return nil
}

func checkLevel(l *ratelimit.Level) error {
	switch kind := l.Strategy.Kind; {
	case l.Key == "" || !lua.Grouped(l.Key):
		return errors.New("it has no limit group; set the group, or the channel")
	case len(l.Windows) == 0:
		return errors.New("it has no windows, want 1 or more")
	case l.Shadow:
		return errors.New("shadow levels need scripts")
	case kind != PerSecond && kind != ratelimit.FixedWindow || l.Strategy.Anchor == ratelimit.Aligned:
		return fmt.Errorf("the strategy %s is not supported; use fixed-window (anchor first) or per-second", describe(l.Strategy))
	}
	seen := map[time.Duration]bool{}
	for _, w := range l.Windows {
		switch {
		case w.Limit < 0:
			return fmt.Errorf("a limit of %d is not valid, want 0 or more", w.Limit)
		case l.Strategy.Kind == PerSecond && w.Per != time.Second:
			return fmt.Errorf("a window of per-second is 1 s long, not %s", w.Per)
		case w.Per < time.Millisecond || w.Per%time.Millisecond != 0:
			return fmt.Errorf("a window of %s is not valid; use whole milliseconds", w.Per)
		case seen[w.Per]:
			return fmt.Errorf("two windows have the length %s; keep the smaller limit", w.Per)
		}
		seen[w.Per] = true
	}
	return nil
}

func describe(s ratelimit.Strategy) string {
	switch {
	case s.Kind == "":
		return string(ratelimit.SlidingLog)
	case s.Anchor == ratelimit.Aligned:
		return string(s.Kind) + " (anchor aligned)"
	default:
		return string(s.Kind)
	}
}
