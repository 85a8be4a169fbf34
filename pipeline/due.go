package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"slackrelay/store"
)

// DueQueue is the part of an outbox that knows which channels have something due. See [store.Queue].
type DueQueue interface {
	Due(ctx context.Context, among []store.Channel, all bool) ([]store.Work, error)
}

// What is logged where an outage of the outbox begins and ends.
const (
	outboxUnavailable = "outbox unavailable; sending stops until it is available"
	outboxPartial     = "outbox partly unavailable; sending stops for the channels of one or more servers"
	outboxAvailable   = "outbox available again"
)

// logOutage logs that an outage begins with err.
func (c *Courier) logOutage(ctx context.Context, err error) {
	log := c.opts.Logger.With("why", store.Describe(err), "error", err)
	if errors.Is(err, store.ErrPartial) {
		log.ErrorContext(ctx, outboxPartial)
		return
	}
	log.ErrorContext(ctx, outboxUnavailable)
}

// noteOutage notes the begin or the end of an outage of the outbox. failing means that the last question failed.
func (c *Courier) noteOutage(ctx context.Context, err error, failing bool) {
	switch {
	case err != nil && !failing && ctx.Err() == nil:
		c.logOutage(ctx, err)
	case err == nil && failing:
		c.opts.Logger.InfoContext(ctx, outboxAvailable)
		c.opts.Resumed()
		c.Recheck()
	}
}

// watch starts the channels that have something due, until ctx ends.
func (c *Courier) watch(ctx context.Context) {
	failing := false
	var again time.Time // when the leases end that a replica may have had at its end; zero = asked already
	for {
		all := c.askAll.Swap(false)
		switch {
		case all:
			again = time.Now().Add(c.opts.Lease)
		case !again.IsZero() && !time.Now().Before(again):
			all = true
			again = time.Time{}
		}
		c.reportMissed(ctx)
		work, err := c.due(ctx, all)
		c.noteOutage(ctx, err, failing)
		for _, one := range work {
			c.startWork(one)
		}
		failing = err != nil
		c.available.Store(err == nil || errors.Is(err, store.ErrPartial))
		c.memories.forget()
		wait := c.poll()
		if len(work) >= store.MaxDue { // there may be more
			wait /= 10
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// due asks for what is due in the channels that can go on: those of a refused credential stay due, and may be many.
func (c *Courier) due(ctx context.Context, all bool) ([]store.Work, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	return c.opts.Outbox.Due(ctx, c.memories.able(c.destinations()), all)
}

// startWork starts what the store says is due.
func (c *Courier) startWork(work store.Work) {
	switch name := work.Channel.Name; work.Kind {
	case store.WorkSend:
		c.startDelivery(name, func() {})
	case store.WorkPromote:
		c.startPromotion(name, func() {})
	case store.WorkProblem:
		c.startProblems(name, func() {})
	}
}

// startPromotion decides the delayed messages of a channel again, unless that runs already. looked is called at its end, or at
// once.
func (c *Courier) startPromotion(channel string, looked func()) {
	if c.opts.Promote == nil || !c.promotions.start(channel, looked) {
		looked()
	}
}

// startDelivery delivers what a channel has, unless that runs already, or could post nothing yet. looked is called once
// the channel was claimed from, or at once.
func (c *Courier) startDelivery(channel string, looked func()) {
	if c.memories.isExhausted(channel) || !c.deliveries.start(channel, looked) {
		looked()
	}
}

// poll returns the time until the next question, with jitter, so that replicas do not ask in step. It is Poll on average.
func (c *Courier) poll() time.Duration {
	return c.opts.Poll*3/4 + rand.N(c.opts.Poll/2) //nolint:gosec // jitter is no secret
}
