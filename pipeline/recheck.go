package pipeline

import (
	"context"
	"time"
)

const (
	// recheckAtOnce is how many channels are claimed together in a recheck, and recheckPause the time between two claims, so
	// that a recheck of 10,000 channels takes seconds and deliveries go on meanwhile.
	recheckAtOnce = 8
	recheckPause  = 200 * time.Microsecond
	// recheckRetry is how long a recheck waits where the store does not answer.
	recheckRetry = 500 * time.Millisecond
)

// Recheck makes the Courier look at every channel soon, whatever the store says is due: another replica ended, or the
// store lost data. It never blocks.
func (c *Courier) Recheck() {
	c.askAll.Store(true)
	select {
	case c.rechecks <- struct{}{}:
	default: // one begins soon
	}
}

// recheck claims from every channel, promotes its delayed messages, and looks at its documents, whatever the store says is
// due: soon after the start and after Recheck, and otherwise each in turn, once in RecheckEvery. It finds what older versions
// queued, what the store lost track of, and messages that a raised limit admits.
func (c *Courier) recheck(ctx context.Context) {
	all := c.rechecked()
	if len(all) == 0 || c.opts.RecheckEvery < 0 {
		return
	}
	looking := make(chan struct{}, recheckAtOnce)
	next, urgent := 0, len(all)
	for {
		pause := recheckRetry
		if c.available.Load() {
			c.look(all[next], looking)
			if next++; next == len(all) {
				next, all = 0, c.rechecked() // templates may have made others
			}
			pause = recheckPause
			if urgent--; urgent < 0 {
				pause = c.opts.RecheckEvery / time.Duration(len(all))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.rechecks:
			urgent = len(all)
		case <-time.After(pause):
		}
	}
}

// look looks at a channel, and at its documents. looking bounds how many are looked at together.
func (c *Courier) look(channel string, looking chan struct{}) {
	if c.destination(channel) != nil {
		looking <- struct{}{} // each claim has a timeout
		c.startDelivery(channel, func() { <-looking })
	}
	if c.isDocumented(channel) {
		looking <- struct{}{}
		c.startProblems(channel, func() { <-looking })
	}
	if ch := c.channel(channel); ch != nil && ch.delays() {
		looking <- struct{}{}
		c.startPromotion(channel, func() { <-looking })
	}
}

// isDocumented reports whether a channel has documents that must be looked at, whatever the store says is due.
func (c *Courier) isDocumented(channel string) bool {
	if c.documented[channel] {
		return true
	}
	made := c.opts.Instances.find(channel)
	return made != nil && c.opts.Problems.Made != nil && c.opts.Problems.Made(made)
}

// rechecked returns the names of the channels that are rechecked: all but lanes.
func (c *Courier) rechecked() []string {
	among := c.destinations()
	all := make([]string, 0, len(among))
	for _, channel := range among {
		if !isLane(channel.Name) {
			all = append(all, channel.Name)
		}
	}
	return all
}
