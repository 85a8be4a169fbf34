package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/pipeline"
	"slackrelay/ratelimit/replica"
)

// readyTimeout bounds how long /readyz waits for the limiter.
const readyTimeout = time.Second

// statusTimeout bounds how long the API and the metrics wait for the state of the channels.
const statusTimeout = 5 * time.Second

// healthz depends on nothing outside: a restart would mend nothing else.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

type readiness struct {
	Status  string   `json:"status"` // "ok", "degraded" or "unavailable"
	Reasons []string `json:"reasons"`
}

// readyz is 503 while draining and when no channel can take anything in. What keeps messages from Slack is
// said, and is 200: taking replicas out of service would not mend it.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	ready, status := s.readiness(ctx, func() ([]pipeline.ChannelStatus, error) { return s.opts.Status.All(ctx) })
	s.writeJSON(w, r, status, ready)
}

// readiness reads the channels only where Redis is there.
func (s *Server) readiness(ctx context.Context, channels func() ([]pipeline.ChannelStatus, error)) (readiness, int) {
	ready := readiness{Status: "ok", Reasons: []string{}}
	status := http.StatusOK
	if s.draining.Load() {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "draining: this replica is about to stop")
	}
	away := s.opts.Status.Away(ctx)
	ready.Reasons = append(ready.Reasons, awayReasons(away)...)
	if len(away) == len(s.opts.Status.Channels()) && !slices.ContainsFunc(slices.Collect(maps.Values(away)), takesIn) {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "no channel can take anything in")
	}
	if len(away) == 0 {
		if all, err := channels(); err == nil { // else Redis answers, if slowly: this replica is ready all the same
			ready.Reasons = append(ready.Reasons, stoppedChannels(all)...)
		}
	}
	if s.opts.Config().Reload != nil {
		ready.Reasons = append(ready.Reasons, "the configuration cannot be used as it is now; the one before is in effect, see /api/v1/config")
	}
	switch {
	case status != http.StatusOK:
		ready.Status = "unavailable"
	case len(ready.Reasons) > 0:
		ready.Status = "degraded"
	}
	return ready, status
}

func takesIn(away replica.AwayStatus) bool { return away.Policy != replica.PolicyClosed }

// awayReasons say why Redis does not serve, and which channels go on without it, and how.
func awayReasons(away map[string]replica.AwayStatus) []string {
	var causes, reasons []string
	for _, channel := range slices.Sorted(maps.Keys(away)) {
		if why := away[channel].Why; why != "" && !slices.Contains(causes, why) {
			causes = append(causes, why)
		}
		switch policy := away[channel].Policy; policy {
		case replica.PolicyClosed:
			reasons = append(reasons, "channel "+channel+" refuses webhooks without Redis (closed)")
		default:
			reasons = append(reasons, "channel "+channel+" continues without Redis ("+string(policy)+"); events that it admits are not durable")
		}
	}
	return append(causes, reasons...)
}

// stoppedChannels says which channels send nothing, and why. A channel that waits as Slack asked, or for its share of what
// Slack allows, is well.
func stoppedChannels(all []pipeline.ChannelStatus) []string {
	var reasons []string
	for _, ch := range all {
		if ch.State.PausedUntil != nil && ch.State.Reason != string(notifier.RateLimited) && ch.State.Reason != pipeline.BudgetReason {
			reasons = append(reasons, "channel "+ch.Channel+" is paused: "+ch.State.Reason)
		}
	}
	return reasons
}

func (s *Server) channels(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	all, err := s.opts.Status.All(ctx)
	if err != nil {
		return err
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"channels": all})
	return nil
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

// series answers how a channel fared over time: ?back=1h, ?step=1m.
func (s *Server) series(w http.ResponseWriter, r *http.Request) error {
	times := map[string]time.Duration{"back": time.Hour, "step": time.Minute}
	for name := range times {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return errorf(events.BadField, "%s is %q; write a time with a unit, like 1h or 5m", name, text)
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
