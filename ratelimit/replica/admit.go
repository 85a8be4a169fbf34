package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/store"
)

// Admit decides requests: here where a level is known to be closed, else in the store, in one call with those of other
// callers, else by the channel's [Policy]. See [store.Limiter].
func (l *Limiter) Admit(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if len(requests) == 0 || len(requests) > store.MaxBatch {
		return nil, store.Check(requests)
	}
	ch := l.channel(scope)
	requests = l.peers.widen(requests)
	if l.unknown.any() { // and only its id shows whether a request is one of those
		if err := store.Complete(requests); err != nil {
			return nil, err
		}
	}
	decisions := make([]store.Decision, len(requests))
	open := ch.refuseClosed(requests, decisions)
	if len(open) > 0 {
		asked := pick(requests, open)
		if err := store.Check(asked); err != nil {
			return nil, err
		}
		decided, err := ch.admit(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", scope.Name, err)
		}
		for i, place := range open {
			decisions[place] = decided[i]
		}
	}
	// Only now are those that were refused here counted: of a call that fails, nothing is.
	if len(open) < len(requests) {
		ch.countClosed(requests, decisions)
	}
	return decisions, nil
}

// pick returns the requests at places.
func pick(requests []store.Request, places []int) []store.Request {
	if len(places) == len(requests) {
		return requests
	}
	picked := make([]store.Request, len(places))
	for i, place := range places {
		picked[i] = requests[place]
	}
	return picked
}

// admit decides valid requests in a call that they share with those of other callers. A caller that leaves ends its own
// wait, and not the call.
func (ch *channel) admit(ctx context.Context, requests []store.Request) ([]store.Decision, error) {
	unknown := &ch.limiter.unknown
	if ch.outage.down() && unknown.contain(requests, ch.opts.Now()) {
		return nil, ch.outage.withCause(fmt.Errorf("%w: it is unknown whether the event was admitted before Redis became unavailable",
			store.ErrUnavailable))
	}
	c, idle := ch.calls.add(requests)
	if idle {
		go ch.serve()
	}
	select {
	case o := <-c.done:
		if o.err == nil {
			unknown.remove(requests)
		}
		return o.decisions, o.err
	case <-ctx.Done():
		unknown.add(requests, ch.opts.Now().Add(ch.opts.Dedupe))
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
}

// serve makes calls until nobody waits for one.
func (ch *channel) serve() {
	for {
		callers, requests := ch.calls.next()
		if len(callers) == 0 {
			return
		}
		decisions, err := ch.decide(requests)
		deliver(callers, decisions, err)
	}
}

// decide decides the requests of one call: in the store, or by the channel's policy while the store is unavailable.
func (ch *channel) decide(requests []store.Request) ([]store.Decision, error) {
	for {
		if ch.outage.rLockIfDown() {
			defer ch.outage.deciding.RUnlock()
			return ch.decideLocally(requests)
		}
		decisions, err := ch.askStore(requests)
		if err == nil {
			return decisions, nil
		}
		if !notCarriedOut(err) || !ch.outage.down() || ch.limiter.unknown.contain(requests, ch.opts.Now()) {
			return nil, ch.failure(requests, err)
		}
	}
}

// askStore decides requests in the store, and learns from its answer.
func (ch *channel) askStore(requests []store.Request) ([]store.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ch.opts.CallTimeout)
	defer cancel()
	before := ch.opts.Now()
	done, err := ch.breaker.allow()
	if err != nil {
		ch.closed.clear()
		return nil, err
	}
	if err = ch.limiter.awaitFirstHeartbeat(ctx); err == nil {
		requests = ch.limiter.peers.widen(requests)
		var answer store.Answer
		if answer, err = ch.store.Decide(ctx, store.ModeAdmit, ch.scope, requests); err == nil {
			done(nil)
			ch.learn(answer, requests, before)
			return answer.Decisions, nil
		}
	}
	done(err)
	if !errors.Is(err, store.ErrRequest) {
		ch.closed.clear() // the connection broke, or the server changed
	}
	return nil, err
}

// learn remembers what the next requests, and the fallback, need of an answer that was asked for at a time.
func (ch *channel) learn(answer store.Answer, requests []store.Request, asked time.Time) {
	ch.limiter.reached.Store(true)
	ch.learnClosed(answer, requests, asked)
	ch.outage.learnUse(requests, answer.Decisions, asked)
	ch.recent.learn(requests, answer.Decisions, asked, ch.opts.Dedupe)
}

// failure returns what callers get of a failed call. Unless the call certainly was not carried out, the outcome of its
// requests is unknown from now on.
func (ch *channel) failure(requests []store.Request, err error) error {
	if errors.Is(err, store.ErrRequest) {
		return err
	}
	if !notCarriedOut(err) {
		ch.limiter.unknown.add(requests, ch.opts.Now().Add(ch.opts.Dedupe))
	}
	if lua.FaultOf(err) == "" { // it is the breaker's own
		err = ch.outage.withCause(err)
	}
	if !errors.Is(err, store.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
