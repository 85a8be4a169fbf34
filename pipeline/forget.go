package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"slackrelay/store"
)

// Instances are looked at for the first time soon after the start, and then every forgetEvery.
const (
	forgetFirst = 2 * time.Second
	forgetEvery = time.Minute
)

// Run forgets idle instances until ctx ends. Any number of replicas may do so.
func (s *Instances) Run(ctx context.Context) {
	wait := forgetFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := s.forgetIdle(ctx); err != nil {
			s.registry.opts.Logger.DebugContext(ctx, "idle channels of templates cannot be forgotten now", "error", err)
		}
		wait = forgetEvery*3/4 + rand.N(forgetEvery/2) //nolint:gosec // jitter is no secret
	}
}

// forgetIdle forgets the instances that had no event within the time of their template, and have nothing to do or to show. The
// others, and those of templates that are not configured now, are looked at again after that time.
func (s *Instances) forgetIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, forgetEvery/2)
	defer cancel()
	idle, err := s.registry.opts.Store.IdleInstances(ctx, s.soonest())
	if err != nil {
		return fmt.Errorf("list them: %w", err)
	}
	for _, one := range idle {
		instance, known := s.registry.get(one.Name)
		if !known {
			continue // it was read before this process knew of it, or it is gone
		}
		t := s.templates[instance.Template]
		if t != nil && one.Idle < t.ForgetAfter {
			continue
		}
		if err := s.forget(ctx, instance, t); err != nil {
			return fmt.Errorf("channel %s: %w", one.Name, err)
		}
	}
	return nil
}

// soonest returns the shortest time after which an instance may be forgotten.
func (s *Instances) soonest() time.Duration {
	var shortest time.Duration
	for _, t := range s.templates {
		if shortest == 0 || t.ForgetAfter < shortest {
			shortest = t.ForgetAfter
		}
	}
	return shortest
}

// forget forgets an instance unless it is needed; t is nil if its template is not configured. The ledger goes first: an event that
// arrives meanwhile keeps the instance.
func (s *Instances) forget(ctx context.Context, instance store.Instance, t *Template) error {
	all := s.registry.opts.Store
	if t == nil {
		_, err := all.UseInstance(ctx, instance, 0)
		return err
	}
	if ch := s.find(instance.Name); ch != nil { // else a configured channel has its name, and its data
		for _, scope := range ch.scopes() {
			forgotten, err := all.ForgetChannel(ctx, scope)
			if err != nil {
				return err
			}
			if !forgotten {
				_, err = all.UseInstance(ctx, instance, 0)
				return err
			}
		}
	}
	removed, err := all.RemoveInstance(ctx, instance.Name, t.ForgetAfter)
	if removed {
		s.registry.opts.Logger.InfoContext(ctx, "idle channel forgotten", "channel", instance.Name, "template", instance.Template)
	}
	return err
}
