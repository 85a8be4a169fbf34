package server

import (
	"net/http"

	"slackrelay/pipeline"
)

// listHeld lists the events that a hold, flapping or an inhibition keeps, newest first. Without the right to read texts, those
// of events are left out.
func (s *Server) listHeld(w http.ResponseWriter, r *http.Request) error {
	return listRecords(s, w, r, "held", s.opts.Archive.Held, func(held *pipeline.HeldRecord, texts bool) { redact(texts, held.Event) })
}
