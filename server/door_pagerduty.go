package server

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"strings"

	"slackrelay/events"
)

// pagerdutyCall is a method of PagerDuty's Events API.
type pagerdutyCall struct {
	credential string // the field with the key of the integration
	action     string // the field that says what happened; "" = it is a change, to which nothing else refers
	key        string // the field with the key of the incident
	status     int    // of the reply
	message    string // of the reply
}

// The methods of versions 2 and 1 (https://developer.pagerduty.com/docs/events-api-v2-overview).
var (
	pagerdutyV2     = pagerdutyCall{"routing_key", "event_action", "dedup_key", http.StatusAccepted, "Event processed"}
	pagerdutyChange = pagerdutyCall{"routing_key", "", "", http.StatusAccepted, "Change event processed"}
	pagerdutyV1     = pagerdutyCall{"service_key", "event_type", "incident_key", http.StatusOK, "Event processed"}
)

// pagerdutyDoor is a method of PagerDuty's Events API. The key of the integration is in the body, and the channel is the one that
// accepts it.
func pagerdutyDoor(call pagerdutyCall) door {
	return door{
		source: "pagerduty_events_v2", place: call.credential,
		handle: func(d door, s *Server, in *ingestRequest) error { return s.acceptPagerduty(d, in, call) },
		fail:   failPagerduty,
	}
}

func (s *Server) acceptPagerduty(d door, in *ingestRequest, call pagerdutyCall) error {
	if err := in.requirePost(); err != nil {
		return err
	}
	fields, from, err := s.identifyByBody(d, in, call)
	if err != nil {
		return err
	}
	key := fields[call.key]
	switch action := fields[call.action]; {
	case call.action == "":
	case action != "trigger" && action != "acknowledge" && action != "resolve":
		return errorf(events.BadField, "%s must be trigger, acknowledge or resolve", call.action)
	case key == "" && action != "trigger":
		return errorf(events.BadField, "%s is empty; set it to that of the incident", call.key)
	case key == "":
		key = strings.ToLower(rand.Text())
	}
	if err := s.parse(in); err != nil {
		return err
	}
	arrival, err := s.decode(in, from)
	if err != nil {
		return err
	}
	reply := map[string]string{"status": "success", "message": call.message}
	if call.key != "" {
		reply[call.key] = key
		arrival.Events[0].Fingerprint = cmp.Or(arrival.Events[0].Fingerprint, key)
	}
	if _, err := s.submit(in, arrival); err != nil {
		return err
	}
	in.release()
	s.writeJSON(in.w, in.r, call.status, reply)
	return nil
}

// identifyByBody finds out who sends a request whose credential is in its body: the body is read first, within the share of
// unauthenticated requests, and only the fields of the call are looked for.
func (s *Server) identifyByBody(d door, in *ingestRequest, call pagerdutyCall) (fields map[string]string, from sender, err error) {
	if err = s.readBody(in); err != nil {
		return nil, from, err
	}
	if err = s.decompress(in); err != nil {
		return nil, from, err
	}
	fields, ok := bodyFields(in.body.plain, call.credential, call.action, call.key)
	if !ok {
		return nil, from, errorf(events.BadJSON, "the body is not a JSON object")
	}
	in.token = fields[call.credential]
	channel, err := s.channelOfCredential(d, in)
	if err != nil {
		return nil, from, err
	}
	in.r.SetPathValue("channel", channel)
	if from, _, err = s.authenticateTo(in, channel); err != nil {
		return nil, from, err
	}
	return fields, from, in.reserved.authenticated(channel)
}

// failPagerduty replies to a fault of the event with 400, as PagerDuty does, whatever it is.
func failPagerduty(s *Server, f doorFault) {
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnsupportedMediaType:
		f.status = http.StatusBadRequest
	}
	status, message := "invalid event", "Event object is invalid"
	if f.status >= http.StatusInternalServerError {
		status, message = "error", "Event not processed"
	}
	f.writeJSON(s, f.status, map[string]any{"status": status, "message": message, "errors": []string{f.message}})
}
