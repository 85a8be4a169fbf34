package server

import (
	"context"
	"net/http"
	"time"

	"slackrelay/notifier"
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
	ready := readiness{Status: "ok", Reasons: []string{}}
	status := http.StatusOK
	if s.draining.Load() {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "draining: this replica is about to stop")
	}
	if err := s.opts.Status.Ping(ctx); err != nil {
		status = http.StatusServiceUnavailable
		ready.Reasons = append(ready.Reasons, "Redis does not answer: no channel can take anything in")
	} else {
		ready.Reasons = append(ready.Reasons, s.stoppedChannels(ctx)...)
	}
	switch {
	case status != http.StatusOK:
		ready.Status = "unavailable"
	case len(ready.Reasons) > 0:
		ready.Status = "degraded"
	}
	s.writeJSON(w, r, status, ready)
}

// stoppedChannels says which channels send nothing, and why. A channel that waits as Slack asked is well.
func (s *Server) stoppedChannels(ctx context.Context) []string {
	all, err := s.opts.Status.All(ctx)
	if err != nil {
		return nil // Redis answers, if slowly: this replica is ready all the same
	}
	var reasons []string
	for _, ch := range all {
		if ch.State.PausedUntil != nil && ch.State.Reason != string(notifier.RateLimited) {
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
