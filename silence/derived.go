package silence

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
)

// Ensure stores a silence with an id and times that its caller derived, unless one with this id was ever stored. Several replicas
// may call it with the same silence: one of them creates it. The error is [ErrInvalid], [ErrTooMany] or that of the store.
func (s *Silencer) Ensure(ctx context.Context, one Silence) (created bool, err error) {
	now, all, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(all, func(known Silence) bool { return known.ID == one.ID }) {
		return false, nil
	}
	if one.StartsAt.IsZero() {
		one.StartsAt = now
	}
	one.CreatedAt = one.StartsAt
	if err := one.validate(now); err != nil {
		return false, err
	}
	if len(all) >= maxSilences {
		return false, ErrTooMany
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if created, err = s.opts.Store.Create(ctx, one); err != nil {
		return false, fmt.Errorf("store the silence: %w", err)
	}
	return created, s.Refresh(ctx)
}

// End ends a silence whose id its caller derived, whether it was stored yet or not: [Silencer.Ensure] does not begin it again.
func (s *Silencer) End(ctx context.Context, one Silence) error {
	now, all, err := s.read(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(known Silence) bool { return known.ID == one.ID }); i >= 0 {
		one = all[i]
		if one.StateAt(now) == Ended {
			return nil
		}
	}
	one.EndsAt = now
	return s.put(ctx, one)
}

// UntilResolved returns the active silences that end when their message is resolved, as of the last refresh.
func (s *Silencer) UntilResolved() []Silence {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []Silence
	now := s.opts.Now().Add(s.ahead)
	for i := range s.all {
		if one := s.all[i].Silence; one.UntilResolved && one.Message != "" && one.StateAt(now) == Active {
			all = append(all, one)
		}
	}
	return all
}

// Passes returns the ids of the silences that let the resolve of an alert pass, and mute it while it fires.
func (s *Silencer) Passes(e *events.Event) (ids []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.all) == 0 || e.Status != events.Resolved {
		return nil
	}
	now := s.opts.Now().Add(s.ahead)
	firing := *e
	firing.Status = events.Firing
	for i := range s.all {
		if s.all[i].FiringOnly && s.all[i].mutes(&firing, now) {
			ids = append(ids, s.all[i].ID)
		}
	}
	return ids
}

// MaxUntilResolved is how long a silence lasts at most that ends with its message.
const MaxUntilResolved = 31 * 24 * time.Hour
