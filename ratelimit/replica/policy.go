package replica

import (
	"cmp"
	"fmt"

	"slackrelay/ratelimit"
	"slackrelay/store"
)

// Policy is what a channel does while the store is unavailable.
type Policy string

const (
	// PolicyLocal gives each replica its share of the limits: limit / replicas, rounded down, less its share of what was
	// used when it last looked. A share of 0 refuses. It admits at most a limit L in a window that lies wholly within an
	// outage that all of R replicas see, and at most 2L - L/R across its start or in a partition, provided that the store
	// keeps its data.
	PolicyLocal Policy = "local"
	// PolicyClosed admits nothing: callers get [ratelimit.ErrUnavailable], and try again.
	PolicyClosed Policy = "closed"
	// PolicyOpen admits everything.
	PolicyOpen Policy = "open"
)

// PolicyOf returns the policy that this process follows for a channel while the store is unavailable: the configured one,
// unless it knows too little for that.
func (l *Limiter) PolicyOf(scope store.Channel) Policy { return l.channel(scope).policy() }

// policy is the policy that can be followed: a process that never reached the store knows neither what is used nor how many
// replicas there are, unless that is configured.
func (ch *channel) policy() Policy {
	configured, listed := (*ch.limiter.policies.Load())[ch.scope.Name]
	if !listed {
		configured = ch.opts.PolicyOf(ch.scope.Name)
	}
	if configured == PolicyLocal && !ch.limiter.reached.Load() && ch.opts.Replicas == 0 {
		return PolicyClosed
	}
	return cmp.Or(configured, PolicyClosed)
}

// localPolicy returns the policy to decide requests by, or why they cannot be decided without the store.
func (ch *channel) localPolicy() (Policy, error) {
	policy := ch.policy()
	if policy != PolicyLocal && policy != PolicyOpen {
		return "", ch.outage.refusal("the channel is closed while Redis is unavailable")
	}
	return policy, nil
}

// refusal is the error of requests that certainly were not carried out, with the cause of the outage.
func (o *outage) refusal(reason string) error {
	return o.withCause(fmt.Errorf("%w: %w: %s", ratelimit.ErrUnavailable, store.ErrNotSent, reason))
}
