package simulation

import (
	"context"
	"net/http"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

// heartbeats watches the heartbeats of a channel as pipeline.Heartbeats does, without a store and without gaps.
type heartbeats struct {
	all   []*heartbeat
	now   func() int64 // the store's time
	watch problem.Watch
}

// heartbeat is one heartbeat, with its document.
type heartbeat struct {
	pipeline.Heartbeat
	isExpected bool // it arrived before
	state      problem.HeartbeatState
}

// newHeartbeats watches those heartbeats of a channel that are events.
func newHeartbeats(configured []pipeline.Heartbeat, channel string, now func() int64) *heartbeats {
	h := &heartbeats{now: now, watch: problem.Watch{Since: Start.UnixMicro()}}
	for _, one := range configured {
		if one.Channel == channel && len(one.Match) > 0 {
			h.all = append(h.all, &heartbeat{Heartbeat: one})
		}
	}
	return h
}

// Match implements [pipeline.HeartbeatMatcher].
func (h *heartbeats) Match(_ string, e *events.Event, header http.Header, _ bool) (name string) {
	for _, one := range h.all {
		if e.Source == pipeline.HeartbeatSource || !one.Matches(e, header) {
			continue
		}
		if e.Status != events.Resolved {
			one.beat(h.watch, h.now())
		}
		return one.Name
	}
	return ""
}

func (h *heartbeat) beat(watch problem.Watch, now int64) {
	if !h.isExpected {
		h.isExpected = true
		h.state = h.NewState(watch, now)
	}
	h.state = h.Beat(h.state, watch, now, now)
}

// due returns when the first heartbeat is missing unless it arrives before; zero = none is expected.
func (h *heartbeats) due() (at time.Time) {
	for _, one := range h.all {
		if !one.isExpected || one.state.Missing != 0 {
			continue
		}
		if due := time.UnixMicro(one.Wake(one.state, h.watch, h.now())).UTC(); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at
}

// end stops expecting heartbeats.
func (h *heartbeats) end() { h.all = nil }

// checkHeartbeats looks at the heartbeats at a time when one is due.
func (r *relay) checkHeartbeats(ctx context.Context, due time.Time) error {
	r.now = due
	for _, one := range r.heartbeats.all {
		if one.isExpected {
			one.state = one.Check(one.state, r.heartbeats.watch, due.UnixMicro())
		}
	}
	return r.announce(ctx)
}

// announce admits the events that heartbeats are missing or back.
func (r *relay) announce(ctx context.Context) error {
	for _, one := range r.heartbeats.all {
		for _, news := range one.state.News {
			e := one.Event(news)
			r.tally.make(e.Category, r.now.Sub(Start))
			arrival := pipeline.Arrival{Channel: r.channel.Name, Sender: pipeline.HeartbeatSource, Events: []events.Event{e}}
			if _, err := r.intake.Admit(ctx, arrival); err != nil {
				return err
			}
		}
		one.state.News = nil
	}
	return nil
}
