package silence

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"slackrelay/events"
)

// Options configure a Silencer. Store is required.
//
//	silencer := silence.New(silence.Options{Store: silence.NewRedis(client)})
//	go silencer.Run(ctx)
type Options struct {
	Store Store
	// Every is the interval at which the changes of other replicas are read. Default 1 s.
	Every  time.Duration
	Logger *slog.Logger // default: none
	// Now is the local clock; its difference from the store's clock is compensated. Default time.Now.
	Now func() time.Time
}

// Silencer mutes events by the silences of a store. It keeps them in memory, so that an event needs no call of the store.
// While the store is unavailable, the silences in memory stay in effect.
type Silencer struct {
	opts Options

	mu    sync.RWMutex
	all   []compiled
	ahead time.Duration // the store's clock minus the local one
}

// New makes a Silencer. [Silencer.Run] must run while it is used.
func New(opts Options) *Silencer {
	if opts.Every == 0 {
		opts.Every = time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Silencer{opts: opts}
}

// Run reads the store at every interval until ctx ends.
func (s *Silencer) Run(ctx context.Context) {
	ticker := time.NewTicker(s.opts.Every)
	defer ticker.Stop()
	failing := false
	for {
		err := s.Refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "silences cannot be read; those already loaded stay in effect", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// callTimeout is the timeout of one call of the store.
const callTimeout = 2 * time.Second

// Refresh reads the store now.
func (s *Silencer) Refresh(ctx context.Context) error {
	now, all, err := s.read(ctx)
	if err != nil {
		return err
	}
	known := make([]compiled, 0, len(all))
	for _, one := range all {
		c, err := one.compile()
		if err != nil {
			s.opts.Logger.WarnContext(ctx, "silence is not valid and is ignored", "silence", one.ID, "error", err)
			continue
		}
		known = append(known, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.ahead = known, now.Sub(s.opts.Now())
	return nil
}

// Mutes returns the id of the silence that mutes an event; "" = none.
func (s *Silencer) Mutes(e *events.Event) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.all) == 0 {
		return ""
	}
	now := s.opts.Now().Add(s.ahead)
	for i := range s.all {
		if s.all[i].mutes(e, now) {
			return s.all[i].ID
		}
	}
	return ""
}

// AllMuting returns the ids of all silences that mute an event.
func (s *Silencer) AllMuting(e *events.Event) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	now := s.opts.Now().Add(s.ahead)
	for i := range s.all {
		if s.all[i].mutes(e, now) {
			ids = append(ids, s.all[i].ID)
		}
	}
	return ids
}

// Known returns the silences as of the last refresh, and the store's time.
func (s *Silencer) Known() (now time.Time, all []Silence) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all = make([]Silence, len(s.all))
	for i := range s.all {
		all[i] = s.all[i].Silence
	}
	return s.opts.Now().Add(s.ahead), all
}

// Listed is a silence with its current state.
type Listed struct {
	Silence
	State State `json:"state"`
}

// List returns all silences, those that end last first.
func (s *Silencer) List(ctx context.Context) ([]Listed, error) {
	now, all, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	listed := make([]Listed, len(all))
	for i, one := range all {
		listed[i] = Listed{Silence: one, State: one.StateAt(now)}
	}
	slices.SortFunc(listed, func(a, b Listed) int {
		return cmp.Or(b.EndsAt.Compare(a.EndsAt), cmp.Compare(a.ID, b.ID))
	})
	return listed, nil
}

// Add stores a new silence. It takes effect here at once, and on other replicas within Every. A silence without an end lasts
// for duration. The error is [ErrInvalid], [ErrTooMany] or that of the store.
func (s *Silencer) Add(ctx context.Context, one Silence, duration time.Duration) (Silence, error) {
	now, all, err := s.read(ctx)
	if err != nil {
		return Silence{}, err
	}
	if one.EndsAt.IsZero() && duration > 0 {
		one.EndsAt = one.StartsAt
		if one.EndsAt.IsZero() {
			one.EndsAt = now
		}
		one.EndsAt = one.EndsAt.Add(duration)
	}
	if err := one.complete(now); err != nil {
		return Silence{}, err
	}
	if len(all) >= maxSilences {
		return Silence{}, ErrTooMany
	}
	return one, s.put(ctx, one)
}

// Replace stores a silence in place of the one with an id; "" = it is a new one. It keeps the id and, if it began, the begin of one
// that has not ended and has the same matchers; otherwise that one ends now. The error is [ErrNotFound], or one of those of
// [Silencer.Add].
func (s *Silencer) Replace(ctx context.Context, id string, one Silence) (Silence, error) {
	if id == "" {
		return s.Add(ctx, one, 0)
	}
	now, all, err := s.read(ctx)
	if err != nil {
		return Silence{}, err
	}
	i := slices.IndexFunc(all, func(known Silence) bool { return known.ID == id })
	if i < 0 {
		return Silence{}, ErrNotFound
	}
	old := all[i]
	if old.StateAt(now) == Ended || old.Channel != one.Channel || !slices.EqualFunc(old.Matchers, one.Matchers, events.Matcher.Equal) {
		made, err := s.Add(ctx, one, 0)
		if err == nil {
			_, err = s.Expire(ctx, id)
		}
		return made, err
	}
	if err := one.complete(now); err != nil {
		return Silence{}, err
	}
	one.ID = old.ID
	one.CreatedAt = old.CreatedAt
	if old.StateAt(now) == Active {
		one.StartsAt = old.StartsAt
	}
	return one, s.put(ctx, one)
}

// Expire ends a silence now. One that has ended stays as it is. The error is [ErrNotFound] or that of the store.
func (s *Silencer) Expire(ctx context.Context, id string) (Silence, error) {
	now, all, err := s.read(ctx)
	if err != nil {
		return Silence{}, err
	}
	for _, one := range all {
		if one.ID != id {
			continue
		}
		if one.StateAt(now) == Ended {
			return one, nil
		}
		one.EndsAt = now
		if one.StartsAt.After(now) {
			one.StartsAt = now
		}
		return one, s.put(ctx, one)
	}
	return Silence{}, ErrNotFound
}

// read returns the store's time, and all silences.
func (s *Silencer) read(ctx context.Context) (now time.Time, all []Silence, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if now, all, err = s.opts.Store.List(ctx); err != nil {
		return now, nil, fmt.Errorf("read the silences: %w", err)
	}
	return now, all, nil
}

func (s *Silencer) put(ctx context.Context, one Silence) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.opts.Store.Put(ctx, one); err != nil {
		return fmt.Errorf("store the silence: %w", err)
	}
	return s.Refresh(ctx)
}
