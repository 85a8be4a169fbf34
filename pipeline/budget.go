package pipeline

import (
	"cmp"
	"context"
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

// reserveCall reserves a call of a method from the workspace's budget, and returns how long to wait; 0 = it may be made.
func (d *delivery) reserveCall(ctx context.Context, method string) time.Duration {
	if d.hasCall(method) {
		return 0
	}
	a := d.askBudget(ctx, method)
	d.keepCall(method, a)
	return a.wait
}

// allowance is the answer of the workspace's budget: a call may be made, or how long to wait, and why.
type allowance struct {
	wait   time.Duration
	reason string
}

// keepCall remembers the budget's answer.
func (d *delivery) keepCall(method string, a allowance) {
	d.refusal = cmp.Or(a.reason, BudgetReason)
	if a.wait == 0 {
		d.reserved[method] = time.Now().Add(callValidFor)
	} else if method == store.MethodPost {
		d.exhausted = time.Now().Add(a.wait)
	}
}

// askBudget asks the workspace's budget for a call of a method.
func (d *delivery) askBudget(ctx context.Context, method string) allowance {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	perMinute := map[string]int64{
		store.MethodPost: d.opts.PostsPerMinute, store.MethodUpdate: d.opts.EditsPerMinute, store.MethodHistory: d.opts.LookupsPerMinute,
	}[method]
	wait, reason, err := d.opts.Budget.ReserveCall(ctx, d.workspace, method, perMinute)
	if err != nil {
		d.log.DebugContext(ctx, "workspace budget unavailable", "error", err)
		return allowance{wait: d.poll(), reason: reason}
	}
	if wait > 0 {
		d.log.DebugContext(ctx, "workspace budget spent", "method", method, "wait", wait, "reason", reason)
	}
	return allowance{wait, reason}
}
