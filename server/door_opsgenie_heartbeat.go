package server

import (
	"cmp"
	"net/http"
	"time"
)

// opsgenieHeartbeat is the ping of Opsgenie's Heartbeat API (https://docs.opsgenie.com/docs/heartbeat-api). As there, the key may also
// be the password of basic authentication, as Alertmanager sends it, or a parameter of the URL.
var opsgenieHeartbeat = door{
	source: opsgenieSource, place: "the key in the header Authorization: GenieKey",
	handle: func(d door, s *Server, in *ingestRequest) error {
		err := in.requireMethod(http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch)
		if err == nil {
			err = s.setHeartbeatChannel(in)
		}
		if err != nil {
			return err
		}
		_, password, _ := in.r.BasicAuth()
		in.token = cmp.Or(schemeToken(in.r, "GenieKey"), password, in.query().Get("apiKey"))
		from, err := s.identifyAtDoor(d, in)
		if err != nil {
			return err
		}
		if _, err := s.beat(in, from); err != nil {
			return err
		}
		s.writeJSON(in.w, in.r, http.StatusAccepted, map[string]any{
			"result": "PONG - Heartbeat received", "took": time.Since(in.now).Seconds(), "requestId": newUUID(),
		})
		return nil
	},
	fail: failOpsgenie,
}
