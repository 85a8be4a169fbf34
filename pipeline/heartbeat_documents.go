package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slackrelay/problem"
	"slackrelay/store"
)

const (
	// keepHeartbeat is how long the document of a heartbeat is kept after its wake-up.
	keepHeartbeat = 31 * 24 * time.Hour
	// keepUnknown is how long the document of a heartbeat is kept that this replica does not know: another one may.
	keepUnknown = time.Hour
)

var errContended = errors.New("the document of the heartbeat changes all the time")

// decision decides what becomes of a document that would be looked at again at wake; 0 = it is new.
type decision func(state problem.HeartbeatState, watch problem.Watch, now, wake int64) problem.HeartbeatState

// write writes the last heartbeat that arrived here.
func (h *Heartbeats) write(ctx context.Context, heartbeat *Heartbeat) error {
	arrived := h.memory.lastArrival(heartbeat)
	_, err := h.update(ctx, heartbeat, func(state problem.HeartbeatState, watch problem.Watch, now, _ int64) problem.HeartbeatState {
		at := now - time.Since(arrived).Microseconds()
		if isFresh := at-state.Seen <= heartbeat.Coalesce().Microseconds() && state.Seen <= now; isFresh && state.Missing == 0 {
			return state // another replica wrote one just before
		}
		return heartbeat.Beat(state, watch, now, at)
	})
	h.memory.noteWritten(heartbeat, arrived, err)
	return err
}

// beatAgain applies the last heartbeat that arrived here to a document, if the document does not know it: because the store was
// away, or returned with older data.
func (h *Heartbeats) beatAgain(
	heartbeat *Heartbeat, state problem.HeartbeatState, watch problem.Watch, now int64,
) problem.HeartbeatState {
	arrived := h.memory.lastArrival(heartbeat)
	if arrived.IsZero() {
		return state
	}
	at := now - time.Since(arrived).Microseconds()
	if at-state.Seen <= heartbeat.Coalesce().Microseconds()+time.Second.Microseconds() {
		return state
	}
	return heartbeat.Beat(state, watch, now, at)
}

// check looks at a document whose time may have come.
func (h *Heartbeats) check(heartbeat *Heartbeat) decision {
	return func(state problem.HeartbeatState, watch problem.Watch, now, wake int64) problem.HeartbeatState {
		if wake != 0 { // before a beat changes it: the wake-up is that of the document as it was
			state = heartbeat.Retime(state, watch, now, wake)
		}
		state = h.beatAgain(heartbeat, state, watch, now)
		return heartbeat.Check(state, watch, now)
	}
}

// audit looks at the documents of all heartbeats: it makes those that do not exist, and repairs those that do not fit the
// configuration or the heartbeats that arrived here.
func (h *Heartbeats) audit(ctx context.Context) {
	for channel, all := range h.byChannel {
		for some := range slices.Chunk(all, store.MaxProblems) {
			now, documents, err := h.load(ctx, h.scopes[channel], namesOf(some)...)
			if err != nil {
				h.memory.noteOutage()
				h.opts.Logger.WarnContext(ctx, "heartbeats cannot be read", "channel", channel, "error", err)
				break
			}
			for i, heartbeat := range some {
				if _, _, err := h.decide(ctx, heartbeat, documents[i], now, h.check(heartbeat)); err != nil {
					h.opts.Logger.WarnContext(ctx, "heartbeat cannot be written", "heartbeat", heartbeat.Name, "error", err)
				}
			}
		}
	}
}

func namesOf(heartbeats []*Heartbeat) []string {
	names := make([]string, len(heartbeats))
	for i, heartbeat := range heartbeats {
		names[i] = heartbeat.document()
	}
	return names
}

// Wakeup looks at documents of heartbeats of a channel whose wake-up has come. Heartbeats that
// are not configured here are forgotten, unless a replica that knows them changes them. It is a [ProblemHandler].
func (h *Heartbeats) Wakeup(ctx context.Context, channel store.Channel, _ int64, due []store.Problem) error {
	ticked := false
	for _, document := range due {
		name := strings.TrimPrefix(document.Name, heartbeatPrefix)
		heartbeat := h.byName[name]
		if heartbeat == nil || heartbeat.Channel != channel.Name {
			change := store.ProblemChange{Name: document.Name, Version: document.Version, Data: document.Data, Keep: keepUnknown}
			if _, err := h.save(ctx, channel, change); err != nil {
				return err
			}
			continue
		}
		if !ticked { // a gap that ends now must be known
			h.tick(ctx)
			ticked = true
		}
		if !h.memory.isReady() {
			return nil // it stays due
		}
		if _, err := h.update(ctx, heartbeat, h.check(heartbeat)); err != nil {
			return fmt.Errorf("heartbeat %s: %w", name, err)
		}
	}
	return nil
}

// update loads, decides and saves a document, until nobody else changes it meanwhile.
func (h *Heartbeats) update(ctx context.Context, heartbeat *Heartbeat, decide decision) (problem.HeartbeatState, error) {
	for range maxTries {
		now, documents, err := h.load(ctx, h.scopes[heartbeat.Channel], heartbeat.document())
		if err != nil {
			return problem.HeartbeatState{}, err
		}
		state, saved, err := h.decide(ctx, heartbeat, documents[0], now, decide)
		if saved || err != nil {
			return state, err
		}
	}
	return problem.HeartbeatState{}, errContended
}

// decide decides about a document that was loaded, and saves it if it changes. saved is false if another replica changed it.
func (h *Heartbeats) decide(
	ctx context.Context, heartbeat *Heartbeat, document store.Problem, now int64, decide decision,
) (state problem.HeartbeatState, saved bool, err error) {
	watch, _ := h.memory.currentWatch()
	if document.Version == 0 || json.Unmarshal(document.Data, &state) != nil {
		state = heartbeat.NewState(watch, now)
	}
	state = decide(state, watch, now, document.Wake)
	data, err := json.Marshal(state)
	if err != nil {
		return state, false, fmt.Errorf("encode heartbeat %s: %w", heartbeat.Name, err)
	}
	if bytes.Equal(data, document.Data) && heartbeat.KeepsWake(state, watch, now, document.Wake) {
		h.memory.noteState(heartbeat, state, now, false)
		return state, true, nil
	}
	wake := heartbeat.Wake(state, watch, now)
	keep := keepHeartbeat + time.Duration(max(0, wake-now))*time.Microsecond
	saved, err = h.save(ctx, h.scopes[heartbeat.Channel], store.ProblemChange{
		Name: document.Name, Version: document.Version, Data: data, Wake: max(1, wake), Keep: keep,
	})
	if saved { // whoever saves what is to be posted posts it
		h.memory.noteState(heartbeat, state, now, len(state.News) > 0)
		if len(state.News) > 0 {
			h.kick()
		}
	}
	return state, saved, err
}

func (h *Heartbeats) load(ctx context.Context, scope store.Channel, names ...string) (now int64, all []store.Problem, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.Timeout)
	defer cancel()
	return h.opts.Store.Problems(ctx, scope, names)
}

func (h *Heartbeats) save(ctx context.Context, scope store.Channel, change store.ProblemChange) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.Timeout)
	defer cancel()
	return h.opts.Store.SaveProblems(ctx, scope, []store.ProblemChange{change}, store.ProblemCounts{})
}
