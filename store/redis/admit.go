package redis

import (
	"cmp"
	"context"
	"fmt"

	"slackrelay/store"
)

var _ store.Limiter = (*Store)(nil)

// Admit implements [Limiter].
func (r *Store) Admit(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if err := store.Check(requests); err != nil {
		return nil, err
	}
	answer, err := r.Decide(ctx, store.ModeAdmit, scope, requests)
	return answer.Decisions, err
}

// Peek implements [Limiter].
func (r *Store) Peek(ctx context.Context, scope store.Channel, requests []store.Request) ([]store.Decision, error) {
	if err := store.Check(requests); err != nil {
		return nil, err
	}
	answer, err := r.Decide(ctx, store.ModePeek, scope, requests)
	return answer.Decisions, err
}

// Decide decides requests that [store.Check] found to be valid; [Store.Admit] and [Store.Peek] check them.
func (r *Store) Decide(ctx context.Context, m store.Mode, scope store.Channel, requests []store.Request) (store.Answer, error) {
	return r.call(ctx, store.NewPlan(m, requests), scope, requests, store.MergeID{})
}

func (r *Store) call(ctx context.Context, p *store.Plan, scope store.Channel, requests []store.Request, f store.MergeID) (store.Answer, error) {
	keys, args := r.admitCall(p, scope, requests, f)
	reply, err := run(ctx, r.scripter, scriptOf(p.Mode), keys, args)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w", p.Mode, scope.Name, err)
	}
	a, err := decodeAdmit(p, requests, reply)
	if err != nil {
		return store.Answer{}, fmt.Errorf("%s to channel %s: %w: %w", p.Mode, scope.Name, store.ErrUnavailable, err)
	}
	if a.Now > 0 {
		r.ahead.Store(a.Now - r.opts.Now().UnixMicro())
	}
	if a.Stepped > 0 && p.Mode != store.ModePeek { // a peek moves nothing
		r.opts.ClockStepped(scope.Name, store.Microseconds(a.Stepped))
	}
	return a, nil
}

// admitCall lays out KEYS and ARGV as the header of lua/admit.lua says.
func (r *Store) admitCall(p *store.Plan, scope store.Channel, requests []store.Request, f store.MergeID) ([]string, []any) {
	names := scope.Keys()
	hour := r.redisTime()
	keys := append(make([]string, 0, 9+len(p.Levels)), names.Seen(), names.Ledger(), names.Series(hour), names.Outbox(), names.Entries(), names.Minutes(hour))
	for _, level := range p.Levels {
		keys = append(keys, level.Key)
	}
	if p.LearnsCategories() {
		keys = append(keys, names.Known(), names.Heard())
	}
	if p.Mode == store.ModeRestore {
		keys = append(keys, names.Folds(), names.Dead())
	}
	if p.Policy != nil {
		keys = append(keys, names.Extras(), names.Posted(), names.Aged(), names.Drops(), names.Digest(), names.Told(), names.Delayed())
	}
	args := append(make([]any, 0, 1+12*len(requests)), planText(p, r.opts.Dedupe.Microseconds(), f))
	for i := range requests {
		args = append(args, requests[i].ID, requests[i].Units(), p.PathOf[i], entryText(&requests[i]))
		if p.Policy != nil {
			e := &requests[i].Event
			args = append(args, e.Bundle, string(e.Status), e.Fingerprint, cmp.Or(e.Severity, "warning"), e.Title, requests[i].Delayed, e.ReplyTo)
		}
		if p.Mode == store.ModeRestore {
			args = append(args, pastText(&requests[i]))
		}
	}
	return keys, args
}

// entry is what the outbox holds of a request, without the time of its admission.
func entryText(r *store.Request) []byte {
	if r.Enqueue == nil {
		return nil
	}
	entry := make([]byte, 0, len(r.Enqueue.Kind)+1+len(r.Enqueue.Payload))
	entry = append(entry, r.Enqueue.Kind...)
	entry = append(entry, ' ')
	return append(entry, r.Enqueue.Payload...)
}
