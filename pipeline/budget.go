package pipeline

import (
	"cmp"
	"context"
	"time"

	"slackrelay/store"
)

// tokenFor is how long a call that was taken from the workspace's budget may be made.
const tokenFor = 5 * time.Second

func (d *delivery) has(method string) bool {
	return d.workspace == "" || time.Now().Before(d.tokens[method])
}

func (d *delivery) spend(method string) { delete(d.tokens, method) }

// take takes a call of a method out of the workspace's budget; otherwise it says how long to wait.
func (d *delivery) take(ctx context.Context, method string) time.Duration {
	if d.has(method) {
		return 0
	}
	a := d.ask(ctx, method)
	d.took(method, a)
	return a.wait
}

// allowance is what the workspace's budget says: a call may be made, or how long to wait, and why.
type allowance struct {
	wait   time.Duration
	reason string
}

// BudgetReason is why a channel waits for the budget of its workspace.
const BudgetReason = "workspace_budget"

// took notes what the workspace's budget said.
func (d *delivery) took(method string, a allowance) {
	d.refusal = cmp.Or(a.reason, BudgetReason)
	if a.wait == 0 {
		d.tokens[method] = time.Now().Add(tokenFor)
	} else if method == store.MethodPost {
		d.exhausted = time.Now().Add(a.wait)
	}
}

// ask asks the workspace's budget for a call of a method.
func (d *delivery) ask(ctx context.Context, method string) allowance {
	ctx, cancel := context.WithTimeout(ctx, d.opts.CallTimeout)
	defer cancel()
	perMinute := map[string]int64{
		store.MethodPost: d.opts.PostsPerMinute, store.MethodUpdate: d.opts.EditsPerMinute, store.MethodHistory: d.opts.LookupsPerMinute,
	}[method]
	wait, reason, err := d.opts.Budget.ReserveCall(ctx, d.workspace, method, perMinute)
	switch {
	case err != nil:
		d.log.DebugContext(ctx, "the workspace's budget cannot be read", "error", err)
		wait = d.poll()
	case wait > 0:
		d.log.DebugContext(ctx, "the workspace's budget allows nothing yet", "method", method, "wait", wait, "reason", reason)
	}
	return allowance{wait, reason}
}
