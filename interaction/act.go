package interaction

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// lateText is what the user sees if the Handler takes longer than Slack waits.
const lateText = "It takes longer than usual. Look at the message in a moment."

// acknowledgement tells Slack that a delivery was taken in. answer is JSON for the user who typed a command; nil = none.
type acknowledgement func(answer []byte)

// act has the Handler act on a delivery, acknowledges it, and answers the user, in this order. It acknowledges within ackWithin
// whatever the Handler does, and returns when all is done. [ErrUnavailable] = nothing was done or acknowledged.
func (r *Receiver) act(ctx context.Context, d delivery, acknowledge acknowledgement) error {
	select {
	case r.inFlight <- struct{}{}:
	default:
		r.opts.Metrics.count(d.kind, busy)
		return fmt.Errorf("%w: more than %d are in flight", ErrUnavailable, MaxInFlight)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), effectWithin)
	defer cancel()
	handler := r.current.Load().handler
	answers := make(chan []Answer, 1)
	r.work.Go(func() {
		defer func() { <-r.inFlight }()
		answers <- r.effect(ctx, handler, d)
	})
	timer := time.NewTimer(time.Until(d.arrived.Add(ackWithin)))
	defer timer.Stop()
	select {
	case all := <-answers:
		r.opts.Metrics.count(d.kind, done)
		r.answer(ctx, d, all, acknowledge)
		return nil
	case <-timer.C:
	}
	r.answer(ctx, d, []Answer{{Text: lateText}}, acknowledge)
	select {
	case all := <-answers:
		r.opts.Metrics.count(d.kind, late)
		r.post(ctx, d, all)
	case <-ctx.Done():
		r.opts.Metrics.count(d.kind, failed)
		r.opts.Logger.ErrorContext(ctx, "interaction not finished", "app", d.app.Name, "kind", d.kind, "after", effectWithin)
	}
	return nil
}

// effect calls the Handler. A panic of it is logged, and the user sees that nothing is certain.
func (r *Receiver) effect(ctx context.Context, handler Handler, d delivery) (answers []Answer) {
	defer func() {
		if reason := recover(); reason != nil {
			r.opts.Logger.ErrorContext(ctx, "interaction panicked", "app", d.app.Name, "kind", d.kind,
				"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			answers = []Answer{{Text: "The relay failed; the cause is in its log."}}
		}
	}()
	if d.kind == command {
		return []Answer{handler.Command(ctx, d.command)}
	}
	for _, one := range d.clicks {
		answer := handler.Click(ctx, one)
		answer.Replace = answer.Replace && one.Message == "" // never replaces a message that others see
		answers = append(answers, answer)
	}
	return answers
}

// answer acknowledges a delivery, and answers the user: a command in the acknowledgement, a click afterwards.
func (r *Receiver) answer(ctx context.Context, d delivery, all []Answer, acknowledge acknowledgement) {
	if d.kind == command {
		acknowledge(inAcknowledgement(all[0]))
		r.opts.Metrics.acknowledged(time.Since(d.arrived))
		return
	}
	acknowledge(nil)
	r.opts.Metrics.acknowledged(time.Since(d.arrived))
	r.post(ctx, d, all)
}
