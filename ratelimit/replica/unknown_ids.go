package replica

import (
	"slackrelay/store"
)

// inDoubt tells whether the outcome of an id is unknown: it must be asked of Redis, and nobody else.
func (s *Limiter) inDoubt(requests ...store.Request) bool {
	if !s.doubts.Load() {
		return false
	}
	if store.Complete(requests) != nil {
		return true // whoever asks on finds the same
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for i := range requests {
		if until, ok := s.unknown[requests[i].ID]; ok && now.Before(until) {
			return true
		}
	}
	return false
}

// maxUnknown bounds the ids in doubt; the oldest are not told from others, so that all go at once.
const maxUnknown = 100_000

func (s *Limiter) doubt(requests []store.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unknown) > maxUnknown {
		clear(s.unknown)
	}
	s.doubts.Store(true)
	until := s.opts.Now().Add(s.opts.Dedupe)
	for i := range requests {
		s.unknown[requests[i].ID] = until
	}
}

func (s *Limiter) settle(requests []store.Request) {
	if !s.doubts.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range requests {
		delete(s.unknown, requests[i].ID)
	}
	s.doubts.Store(len(s.unknown) > 0)
}
