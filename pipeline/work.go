package pipeline

import (
	"context"
	"time"

	"slackrelay/store"
)

// Work does one work that is due, and returns when nothing more of it is due now. rest is how long Run would wait before it
// delivers again, unless the channel is woken. Work is for a caller whose store has a clock of its own, such as a simulation, and
// that calls it instead of [Courier.Run].
func (c *Courier) Work(ctx context.Context, work store.Work) (rest time.Duration) {
	switch work.Kind {
	case store.WorkSend:
		to := c.destination(work.Channel.Name)
		if to == nil {
			return 0
		}
		for d := newDelivery(c, to, func() {}); rest == 0; {
			rest = d.next(ctx, false)
		}
		if rest > maxSleep {
			return 0
		}
	case store.WorkProblem:
		c.lookAtProblems(ctx, work.Channel)
	case store.WorkPromote:
		if c.opts.Promote != nil {
			c.opts.Promote(ctx, work.Channel.Name)
		}
	}
	return rest
}
