package server

import (
	"encoding/json"
	"net/http"
	"time"

	"slackrelay/pipeline"
)

// record sends the events that a channel receives from now on at this replica, one JSON object a line, until the reader
// disconnects or this Server is retired. It ends early where the reader is too slow: a trace with gaps would mislead. Without
// the right to read texts, labels are left out.
func (s *Server) record(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.opts.Status.Channel(r.Context(), r.PathValue("channel")); err != nil {
		return err
	}
	recording, ok := s.opts.Recorder.Listen(r.PathValue("channel"))
	if !ok {
		return errorf(unavailable, "too many recordings run at this replica (%d); end one, or try again later", pipeline.MaxRecordings)
	}
	defer recording.Stop()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	encoder := json.NewEncoder(w)
	labels := s.mayRead(r)
	ticker := time.NewTicker(quietFor)
	defer ticker.Stop()
	for recording.Lost() == 0 {
		control.SetWriteDeadline(time.Now().Add(streamTimeout)) //nolint:errcheck // tests write to memory
		if control.Flush() != nil {
			return nil // the reader disconnected
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-s.retired:
			return nil
		case <-ticker.C:
			if _, err := w.Write([]byte("\n")); err != nil { // it finds out whether the reader is still there
				return nil
			}
		case webhook := <-recording.Arrived():
			if writeRecorded(encoder, webhook, labels) != nil {
				return nil
			}
		}
	}
	s.opts.Logger.WarnContext(r.Context(), "recording ended: the reader is too slow", "channel", r.PathValue("channel"))
	return nil
}

func writeRecorded(encoder *json.Encoder, webhook []pipeline.Recorded, labels bool) error {
	for _, event := range webhook {
		if !labels {
			event.Labels = nil
		}
		if err := encoder.Encode(event); err != nil {
			return err
		}
	}
	return nil
}
