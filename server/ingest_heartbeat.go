package server

import (
	"cmp"
	"net/http"

	"slackrelay/pipeline"
)

// heartbeat serves /heartbeats/{name} and /heartbeats/{name}/{token}. Tools that can only call a URL send heartbeats, so GET and HEAD
// count too, and a token may be in the URL. The body is ignored.
func (s *Server) heartbeat(in *ingestRequest) error {
	in.acceptAnyMediaType()
	if err := in.requireMethod(http.MethodPost, http.MethodPut, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	if err := s.setHeartbeatChannel(in); err != nil {
		return err
	}
	in.token = cmp.Or(in.r.PathValue("token"), in.query().Get("token"))
	from, err := s.identify(in, in.r.PathValue("channel"))
	if err != nil {
		return err
	}
	receipt, err := s.beat(in, from)
	if err != nil {
		return err
	}
	s.writeJSON(in.w, in.r, http.StatusAccepted, receipt)
	return nil
}

// setHeartbeatChannel finds the channel whose credentials a sender of the heartbeat needs.
func (s *Server) setHeartbeatChannel(in *ingestRequest) error {
	name := in.r.PathValue("name")
	channel, known := s.opts.Heartbeats.Channel(name)
	if !known {
		return errorf(unknownHeartbeat, "no heartbeat is called %q; add it to heartbeats in the configuration", cutBytes(name, maxQuoted))
	}
	in.r.SetPathValue("channel", channel)
	return nil
}

// beat passes on a heartbeat.
func (s *Server) beat(in *ingestRequest, from sender) (pipeline.HeartbeatReceipt, error) {
	if from.signs {
		return pipeline.HeartbeatReceipt{}, errorf(unauthorized, "credential %q of channel %q signs the body, not the path, which names the "+
			"heartbeat; use a token", from.name, from.channel)
	}
	in.release()
	return s.opts.Heartbeats.Beat(in.r.Context(), in.r.PathValue("name")) //nolint:wrapcheck // the reply depends on its kind
}
