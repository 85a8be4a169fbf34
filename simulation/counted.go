package simulation

import "time"

// counted is a category while it is counted.
type counted struct {
	Category
	first   time.Duration
	last    time.Duration
	heard   time.Duration // the first time that it was; -1 = never
	waiting waiting
}

// waiting are the events of a category that are not shown yet.
type waiting struct {
	since  time.Duration   // when the first of them arrived
	alerts map[string]bool // the alerts that fire, by fingerprint
	others bool            // there are events without a fingerprint
}

// isOver reports whether nothing waits.
func (w *waiting) isOver() bool { return len(w.alerts) == 0 && !w.others }

// wait notes that an event of the category waits to be shown. Nobody waits for a resolve.
func (c *counted) wait(at time.Duration, d *decided) {
	if d.isResolve {
		return
	}
	if c.waiting.isOver() {
		c.waiting = waiting{since: at, alerts: map[string]bool{}}
	}
	if d.fingerprint == "" {
		c.waiting.others = true
	} else {
		c.waiting.alerts[d.fingerprint] = true
	}
}

// endAlert notes that an alert is over: if nothing else waits, the category is silent no more.
func (c *counted) endAlert(at time.Duration, fingerprint string) {
	if !c.waiting.alerts[fingerprint] {
		return
	}
	if len(c.waiting.alerts) == 1 && !c.waiting.others {
		c.endSilence(at)
		return
	}
	delete(c.waiting.alerts, fingerprint)
}

// hear notes that an event of the category is shown.
func (c *counted) hear(at time.Duration) {
	if c.heard < 0 {
		c.heard = at
	}
	c.endSilence(at)
}

func (c *counted) endSilence(at time.Duration) {
	if !c.waiting.isOver() {
		c.LongestSilence = max(c.LongestSilence, (at - c.waiting.since).Seconds())
		c.waiting = waiting{}
	}
}
