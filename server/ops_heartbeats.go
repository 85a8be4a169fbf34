package server

import (
	"context"
	"fmt"
	"net/http"
)

// listHeartbeats returns the state of all heartbeats of senders, by name.
func (s *Server) listHeartbeats(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	all, err := s.opts.Heartbeats.List(ctx)
	if err != nil {
		return fmt.Errorf("heartbeats: %w", err)
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"heartbeats": all})
	return nil
}
