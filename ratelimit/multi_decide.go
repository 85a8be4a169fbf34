package ratelimit

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// undo says which windows to take the units of a refused request back from.
func (m *Multi) undo(c counted, n count, o Outcome) []bool {
	undo := make([]bool, len(c.windows))
	for w := range c.windows {
		switch {
		case o == Admitted:
		case n.endings[w] > m.opts.UndoMargin:
			undo[w] = true
		default:
			m.opts.Overshot(c.windows[w].level.Name, c.units())
		}
	}
	return undo
}

// prepare names the counters of requests, by the server's time where their names hold it.
func (m *Multi) prepare(ctx context.Context, requests []Request) ([]counted, error) {
	if err := check(requests); err != nil {
		return nil, err
	}
	var second time.Time
	all := make([]counted, len(requests))
	for i := range requests {
		all[i].Request = &requests[i]
		if requests[i].Forced {
			return nil, fmt.Errorf("%w: request %d: %w", ErrRequest, i, ErrNotForced)
		}
		for l := range requests[i].Levels {
			level := &requests[i].Levels[l]
			if err := level.checkMulti(); err != nil {
				return nil, fmt.Errorf("%w: request %d: level %q: %w", ErrRequest, i, level.Name, err)
			}
			for _, w := range level.Windows {
				c := counter{key: level.Key + ":" + strconv.FormatInt(w.Per.Milliseconds(), 10), level: level, Window: w}
				if level.Strategy.kind() == PerSecond {
					if second.IsZero() {
						var err error
						if second, err = m.counters.now(ctx); err != nil {
							return nil, err
						}
					}
					c.key = level.Key + ":" + strconv.FormatInt(second.Unix(), 10)
					c.next = second.Truncate(time.Second).Add(time.Second).Sub(second)
				}
				all[i].windows = append(all[i].windows, c)
			}
		}
	}
	return all, nil
}

func (l *Level) checkMulti() error {
	switch {
	case l.Shadow:
		return fmt.Errorf("the engine multi knows no shadow levels")
	case l.Strategy.kind() == PerSecond:
		for _, w := range l.Windows {
			if w.Per != time.Second {
				return fmt.Errorf("a window of per-second is 1 s long, not %s", w.Per)
			}
		}
		return nil
	case l.Strategy.kind() == FixedWindow && l.Strategy.Anchor != Aligned:
		for _, w := range l.Windows {
			if w.Per < time.Millisecond {
				return fmt.Errorf("a window of the engine multi is 1 ms or longer")
			}
		}
		return nil
	default:
		return fmt.Errorf("the engine multi knows the strategies fixed-window (anchor first) and per-second, not %s", l.Strategy.kind())
	}
}

// decideCounts decides one request by what its units made of the counters.
func decideCounts(c counted, n count) Decision {
	if n.id == idAdmitted {
		return Decision{Outcome: Duplicate, DecidedBy: ByRedis}
	}
	d := Decision{Outcome: Admitted, DecidedBy: ByRedis}
	for w, counter := range c.windows {
		over := n.totals[w] > counter.Limit
		if over {
			if len(d.Refused) == 0 || d.Refused[len(d.Refused)-1] != counter.level.Name {
				d.Refused = append(d.Refused, counter.level.Name)
			}
			if d.Outcome == Admitted {
				d.Outcome, d.Level = Dropped, counter.level.Name
			}
			ending := n.endings[w]
			if counter.next > 0 {
				ending = counter.next
			}
			if d.Level == counter.level.Name && (d.Window == Window{} || ending > d.RetryAfter) {
				d.Window = counter.Window
			}
			d.RetryAfter = max(d.RetryAfter, ending)
		}
		if c.units() > counter.Limit {
			d.Outcome = Never
		}
	}
	if d.Outcome == Never {
		d.RetryAfter = -1
	}
	for w, counter := range c.windows {
		used := n.totals[w]
		if d.Outcome != Admitted {
			used -= c.units() // they are taken back
		}
		d.Remaining = append(d.Remaining, Remaining{
			Level: counter.level.Name, Window: counter.Window, Used: used, Units: max(0, counter.Limit-used),
		})
	}
	return d
}
