package server

import "net/http"

// listHeld lists the events that a hold, flapping or an inhibition keeps, newest first. Without the right to read texts, those
// of events are left out.
func (s *Server) listHeld(w http.ResponseWriter, r *http.Request) error {
	before, limit, err := pageOf(r)
	if err != nil {
		return err
	}
	held, err := s.opts.Archive.Held(r.Context(), r.PathValue("channel"), before, limit)
	if err != nil {
		return err
	}
	texts := s.mayRead(r)
	for i := range held {
		redact(texts, held[i].Event)
	}
	s.writeJSON(w, r, http.StatusOK, map[string]any{"held": held, "texts": texts})
	return nil
}
