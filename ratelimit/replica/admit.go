package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slackrelay/lua"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Admit decides requests: here where a level is known to be closed, else in the store, in one call with those of other
// callers, else by the channel's [Policy]. See [store.Admissions]. The answer contains the decisions only.
func (l *Limiter) Admit(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error) {
	if len(requests) == 0 || len(requests) > ratelimit.MaxBatch {
		return store.Answer{}, store.Check(store.ModeAdmit, requests)
	}
	ch := l.channel(scope)
	requests = l.peers.widen(requests)
	if l.unknown.any() { // and only its id shows whether a request is one of those
		if err := store.Complete(requests); err != nil {
			return store.Answer{}, err
		}
	}
	decisions := make([]store.Decision, len(requests))
	open := ch.refuseClosed(requests, decisions)
	if len(open) > 0 {
		asked := pick(requests, open)
		if err := store.Check(store.ModeAdmit, asked); err != nil {
			return store.Answer{}, err
		}
		decided, err := ch.admit(ctx, asked)
		if err != nil {
			return store.Answer{}, fmt.Errorf("channel %s: %w", scope.Name, err)
		}
		for i, place := range open {
			decisions[place] = decided[i]
		}
	}
	// Only now are those that were refused here counted: of a call that fails, nothing is.
	if len(open) < len(requests) {
		ch.countClosed(requests, decisions)
	}
	return store.Answer{Decisions: decisions}, nil
}

// Promote decides delayed messages again. Only the store can: they wait there.
func (l *Limiter) Promote(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error) {
	return l.channel(scope).decideInStore(ctx, l.store.Promote, requests, "a delayed event keeps waiting while Redis is unavailable")
}

// Force admits requests past the limits. Only the store can: the shared ledger counts them.
func (l *Limiter) Force(ctx context.Context, scope store.Channel, requests []store.Request) (store.Answer, error) {
	return l.channel(scope).decideInStore(ctx, l.store.Force, requests, "events cannot be forced past the limits while Redis is unavailable")
}

// decideInStore decides requests in a call of their own, or refuses them with a reason while the store is unavailable.
func (ch *channel) decideInStore(ctx context.Context, ask store.DecideFunc, requests []store.Request, reason string) (store.Answer, error) {
	if err := store.Complete(requests); err != nil { // the ids are needed where the outcome stays unknown
		return store.Answer{}, err
	}
	if ch.outage.down() {
		return store.Answer{}, fmt.Errorf("channel %s: %w", ch.scope.Name, ch.outage.refusal(reason))
	}
	decisions, err := ch.askStore(ctx, ask, requests)
	if err != nil {
		return store.Answer{}, fmt.Errorf("channel %s: %w", ch.scope.Name, ch.failure(requests, err))
	}
	ch.limiter.unknown.remove(requests)
	return store.Answer{Decisions: decisions}, nil
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

// admit decides valid requests in a call that they share with those of other callers. A caller that leaves, or waited long
// enough, ends its own wait, and not the call.
func (ch *channel) admit(ctx context.Context, requests []store.Request) ([]store.Decision, error) {
	unknown := &ch.limiter.unknown
	if ch.outage.down() && unknown.contain(requests, ch.opts.Now()) {
		return nil, ch.outage.withCause(fmt.Errorf("%w: it is unknown whether the event was admitted before Redis became unavailable",
			ratelimit.ErrUnavailable))
	}
	c, idle := ch.calls.add(requests)
	if idle {
		go ch.serve()
	}
	if ch.opts.MaxWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ch.opts.MaxWait)
		defer cancel()
	}
	select {
	case o := <-c.done:
		if o.err == nil {
			unknown.remove(requests)
		}
		return o.decisions, o.err
	case <-ctx.Done():
		unknown.add(requests, ch.opts.Now().Add(ch.opts.Dedupe))
		return nil, fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, ctx.Err())
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
		decisions, err := ch.askStore(context.Background(), ch.store.Admit, requests)
		if err == nil {
			return decisions, nil
		}
		if !notCarriedOut(err) || !ch.outage.down() || ch.limiter.unknown.contain(requests, ch.opts.Now()) {
			return nil, ch.failure(requests, err)
		}
	}
}

// askStore decides requests in the store, and learns from its answer. The call goes on when its caller leaves.
func (ch *channel) askStore(ctx context.Context, ask store.DecideFunc, requests []store.Request) ([]store.Decision, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ch.opts.CallTimeout)
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
		if answer, err = ask(ctx, ch.scope, requests); err == nil {
			done(nil)
			ch.learn(answer, requests, before)
			return answer.Decisions, nil
		}
	}
	done(err)
	if !errors.Is(err, ratelimit.ErrRequest) {
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
	if errors.Is(err, ratelimit.ErrRequest) {
		return err
	}
	if !notCarriedOut(err) {
		ch.limiter.unknown.add(requests, ch.opts.Now().Add(ch.opts.Dedupe))
	}
	if lua.FaultOf(err) == "" { // it is the breaker's own
		err = ch.outage.withCause(err)
	}
	if !errors.Is(err, ratelimit.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ratelimit.ErrUnavailable, err)
	}
	return err
}
