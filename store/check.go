package store

import (
	"errors"
	"fmt"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// Check completes the requests of one call, and returns an [ratelimit.ErrRequest] that names the first one that is not valid.
func Check(mode Mode, requests []Request) error {
	if err := Complete(requests); err != nil {
		return err
	}
	if len(requests) == 0 || len(requests) > ratelimit.MaxBatch {
		return fmt.Errorf("%w: %d requests in one call, want 1 to %d", ratelimit.ErrRequest, len(requests), ratelimit.MaxBatch)
	}
	for i := range requests {
		if err := requests[i].check(mode); err != nil {
			return fmt.Errorf("%w: request %d: %w", ratelimit.ErrRequest, i, err)
		}
		if err := requests[i].checkSameAs(&requests[0]); err != nil {
			return fmt.Errorf("%w: request %d: %w", ratelimit.ErrRequest, i, err)
		}
	}
	return nil
}

// checkSameAs returns an error if the request may not share a call with the first one.
func (r *Request) checkSameAs(first *Request) error {
	if !r.Fairness.Equal(first.Fairness) {
		return errors.New("fairness differs from that of request 0")
	}
	if r.Policy != first.Policy {
		return errors.New("policy differs from that of request 0")
	}
	return nil
}

func (r *Request) check(mode Mode) error {
	if err := r.Check(); err != nil {
		return err
	}
	for i := range r.Levels {
		if !lua.Grouped(r.Levels[i].Key) {
			return fmt.Errorf("level %q has no limit group; set the group, or the channel", r.Levels[i].Name)
		}
	}
	if (r.Delayed > 0) != (mode == ModePromote) {
		return errors.New("a request that asks again for a delayed event is for Promote, and no other request is")
	}
	if r.Enqueue != nil && r.Enqueue.Kind != KindMessage {
		return fmt.Errorf("kind %q of the outbox entry is unknown", r.Enqueue.Kind)
	}
	return r.checkPolicy()
}
