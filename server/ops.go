package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
)

// readyTimeout bounds how long /readyz waits for the shared state.
const readyTimeout = time.Second

// recentReading is how old a reading may be from which /readyz takes its reasons where there are many channels, and with which the
// list of channels is answered if they cannot be read.
const recentReading = time.Minute

// statusTimeout bounds how long the API and the metrics wait for the state of the channels.
const statusTimeout = 5 * time.Second

// healthz depends on nothing outside of this process, because a restart would not fix anything else.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

type readiness struct {
	Status  string   `json:"status"` // "ok", "degraded" or "unavailable"
	Reasons []string `json:"reasons"`
}

// readyz replies with 503 while draining and while no channel accepts webhooks. What only keeps messages from Slack is a reason
// with 200: taking replicas out of service would not fix it.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	ready, status := s.readiness(ctx, func() *pipeline.Reading { return s.recentReading(ctx) })
	s.writeJSON(w, r, status, ready)
}

// recentReading returns a reading of the channels if it costs little: a new one of few channels, else the last one, unless it is
// old. nil = there is none.
func (s *Server) recentReading(ctx context.Context) *pipeline.Reading {
	if s.opts.Status.ReadsAlways() {
		reading, _ := s.opts.Status.Reading(ctx) // an error means that Redis is slow, which does not make this replica unready
		return reading
	}
	reading := s.opts.Status.Latest()
	if reading == nil || time.Since(reading.At) > recentReading {
		return nil
	}
	return reading
}

// readiness returns the state and its HTTP status. It calls channels only while Redis is available; nil = they are not known.
func (s *Server) readiness(ctx context.Context, channels func() *pipeline.Reading) (readiness, int) {
	ready := readiness{Status: "ok", Reasons: []string{}}
	status := http.StatusOK
	if s.draining.Load() {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "draining: this replica is about to stop")
	}
	away := s.opts.Status.Away(ctx)
	ready.Reasons = append(ready.Reasons, awayReasons(away)...)
	if len(away) == len(s.opts.Status.Channels()) && !slices.ContainsFunc(slices.Collect(maps.Values(away)), acceptsWebhooks) {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "no channel accepts webhooks")
	}
	if len(away) == 0 {
		if reading := channels(); reading != nil {
			ready.Reasons = append(ready.Reasons, faultReasons(reading)...)
			ready.Reasons = append(ready.Reasons, pausedReasons(reading.Channels)...)
		}
	}
	if s.opts.Config().Reload != nil {
		ready.Reasons = append(ready.Reasons, "the new configuration is not valid; the previous one stays in effect, see /api/v1/config")
	}
	switch {
	case status != http.StatusOK:
		ready.Status = "unavailable"
	case len(ready.Reasons) > 0:
		ready.Status = "degraded"
	}
	return ready, status
}

func acceptsWebhooks(away replica.AwayStatus) bool { return away.Policy != replica.PolicyClosed }

// awayReasons returns why Redis is not available, and by which policy each channel continues without it.
func awayReasons(away map[string]replica.AwayStatus) []string {
	var causes, reasons []string
	for _, channel := range slices.Sorted(maps.Keys(away)) {
		if why := away[channel].Why; why != "" && !slices.Contains(causes, why) {
			causes = append(causes, why)
		}
		if policy := away[channel].Policy; policy == replica.PolicyClosed {
			reasons = append(reasons, "channel "+channel+" refuses webhooks without Redis (closed)")
		} else {
			reasons = append(reasons, "channel "+channel+" continues without Redis ("+string(policy)+"); events that it admits are not durable")
		}
	}
	return append(causes, bounded(reasons)...)
}

// maxReasons is how many channels the readiness names with the same kind of reason.
const maxReasons = 100

// bounded returns the first reasons, and how many more there are.
func bounded(reasons []string) []string {
	if more := len(reasons) - maxReasons; more > 0 {
		return append(reasons[:maxReasons:maxReasons], fmt.Sprintf("the same holds for %d more channels; see /api/v1/channels", more))
	}
	return reasons
}

// pausedReasons returns which channels are paused, and why. A channel that waits as Slack demanded, or for its share of the
// workspace's rate limit, is healthy.
func pausedReasons(all []pipeline.ChannelStatus) []string {
	var reasons []string
	for _, ch := range all {
		if ch.State.Fault != nil && ch.State.Fault.Token != "" {
			continue // it waits for its token, which is one reason for all its channels
		}
		if ch.State.PausedUntil != nil && ch.State.Reason != string(notifier.RateLimited) && ch.State.Reason != pipeline.BudgetReason {
			reasons = append(reasons, "channel "+ch.Channel+" is paused: "+ch.State.Reason)
		}
	}
	return bounded(reasons)
}

func (s *Server) channel(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	status, err := s.opts.Status.Channel(ctx, r.PathValue("channel"))
	if err != nil {
		return err
	}
	s.writeJSON(w, r, http.StatusOK, status)
	return nil
}

// series returns the counts of a channel over time: ?back=1h, ?step=1m.
func (s *Server) series(w http.ResponseWriter, r *http.Request) error {
	times := map[string]time.Duration{"back": time.Hour, "step": time.Minute}
	for name := range times {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return errorf(events.BadField, "%s: %q is not a duration; use a unit, for example 1h or 5m", name, text)
		}
		times[name] = d
	}
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	series, err := s.opts.Status.Series(ctx, r.PathValue("channel"), times["back"], times["step"])
	if errors.Is(err, pipeline.ErrSeries) {
		return errorf(events.BadField, "%v", err)
	}
	if err != nil {
		return err
	}
	s.writeJSON(w, r, http.StatusOK, series)
	return nil
}
