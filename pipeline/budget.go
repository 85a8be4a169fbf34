package pipeline

import (
	"cmp"
	"context"
	"sync"
	"time"

	"slackrelay/store"
)

// callValidFor is how long a call that was reserved from the workspace's budget may be made.
const callValidFor = 5 * time.Second

// BudgetReason is why a channel waits for the budget of its workspace.
const BudgetReason = "workspace_budget"

// hasCall reports whether a call of a method may be made now.
func (d *delivery) hasCall(method string) bool {
	return d.workspace == "" || time.Now().Before(d.reserved[method])
}

// reserveNext reserves the call for the message that waits behind a claimed entry, while that one is sent. It waits for neither:
// the caller calls wait before the next claim.
func (d *delivery) reserveNext(ctx context.Context, claim *store.Claim) (wait func()) {
	if !claim.More || ctx.Err() != nil || d.terms.Pace.Every >= callValidFor {
		return func() {}
	}
	var reserving sync.WaitGroup
	reserving.Go(func() { d.reserveCall(ctx, store.MethodPost) })
	return reserving.Wait
}

// reserveCall reserves a call of a method from the workspace's budget, and returns how long to wait; 0 = it may be made.
func (d *delivery) reserveCall(ctx context.Context, method string) time.Duration {
	if d.hasCall(method) {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	perMinute := map[string]int64{
		store.MethodPost: d.perMinute.Posts, store.MethodUpdate: d.perMinute.Edits, store.MethodHistory: d.perMinute.Lookups,
	}[method]
	reserved, err := d.budget.reserve(ctx, budgetKind{d.workspace, method, perMinute})
	wait := reserved.Wait
	d.refusal = cmp.Or(reserved.Reason, BudgetReason)
	switch {
	case err != nil:
		d.log.DebugContext(ctx, "workspace budget unavailable", "error", err)
		wait = d.poll()
	case wait > 0:
		d.log.DebugContext(ctx, "workspace budget spent", "method", method, "wait", wait, "reason", reserved.Reason)
	default:
		if d.reserved == nil {
			d.reserved = map[string]time.Time{}
		}
		d.reserved[method] = time.Now().Add(callValidFor)
		return 0
	}
	if method == store.MethodPost {
		d.exhausted = time.Now().Add(wait)
	}
	return wait
}
