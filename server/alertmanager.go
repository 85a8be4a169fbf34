package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
)

// alertmanagerDoors adds the endpoints of version 2 of Alertmanager's API
// (https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml), below a path that names the channel, and below one
// that does not.
func alertmanagerDoors(all map[string]door) map[string]door {
	for _, base := range []string{"", "/alertmanager/{channel}"} {
		all[base+"/api/v2/alerts"] = alertmanagerDoor(methods{
			http.MethodGet: (*Server).listAlerts, http.MethodPost: (*Server).postAlerts,
		})
		all[base+"/api/v2/alerts/groups"] = alertmanagerDoor(methods{http.MethodGet: (*Server).listAlertGroups})
		all[base+"/api/v2/silences"] = alertmanagerDoor(methods{
			http.MethodGet: (*Server).listChannelSilences, http.MethodPost: (*Server).postSilence,
		})
		all[base+"/api/v2/silence/{id}"] = alertmanagerDoor(methods{
			http.MethodGet: (*Server).showSilence, http.MethodDelete: (*Server).deleteSilence,
		})
		all[base+"/api/v2/status"] = alertmanagerDoor(methods{http.MethodGet: (*Server).alertmanagerStatus})
		all[base+"/api/v2/receivers"] = alertmanagerDoor(methods{http.MethodGet: (*Server).listReceivers})
		all[base+"/-/healthy"] = alertmanagerDoor(methods{http.MethodGet: (*Server).alertmanagerHealth})
		all[base+"/-/ready"] = alertmanagerDoor(methods{http.MethodGet: (*Server).alertmanagerHealth})
	}
	return all
}

// methods are the handlers of an endpoint by their HTTP methods.
type methods map[string]func(s *Server, d door, in *ingestRequest) error

func alertmanagerDoor(all methods) door {
	return door{
		source: "alertmanager", place: "a bearer token, or the password of basic authentication",
		handle: func(d door, s *Server, in *ingestRequest) error {
			handle, ok := all[in.r.Method]
			if !ok {
				return in.requireMethod(sortedMethods(all)...)
			}
			in.token = passwordOf(in.r)
			return handle(s, d, in)
		},
		fail: failAlertmanager,
	}
}

func sortedMethods(all methods) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// passwordOf returns the password of basic authentication, for clients that can only put a credential into their URL.
func passwordOf(r *http.Request) string {
	_, password, _ := r.BasicAuth()
	return password
}

// The codes that Alertmanager gives to faults of a body, beside the HTTP status.
const requiredCode = 602

// failAlertmanager replies with an error in one of the shapes of Alertmanager: a text for what a handler found, otherwise an object.
func failAlertmanager(s *Server, f doorFault) {
	if f.code == events.BadField {
		f.writeJSON(s, f.status, f.message)
		return
	}
	code := f.status
	if f.code == events.EmptyBody {
		f.status = http.StatusUnprocessableEntity
		code = requiredCode
	}
	f.writeJSON(s, f.status, map[string]any{"code": code, "message": f.message})
}

// errRequired is the error of a body without a field that it must have.
func errRequired(field string) error {
	return errorf(events.EmptyBody, "%s in body is required", field)
}

// alertmanagerCaller is who reads alerts and silences of a channel.
type alertmanagerCaller struct {
	channel    string
	credential string // its name
	admin      bool
	maySilence bool // it may make and end silences of the channel
}

// identifyCaller finds out who calls for what only those may know who present a credential of the channel, or the admin token.
func (s *Server) identifyCaller(d door, in *ingestRequest) (alertmanagerCaller, error) {
	if channel := in.r.PathValue("channel"); channel != "" && s.admin.equals(adminTokenOf(in)) {
		return alertmanagerCaller{channel: channel, credential: adminCredential, admin: true, maySilence: true}, s.readAdminBody(in, channel)
	}
	from, err := s.identifyAtDoor(d, in)
	switch {
	case err != nil:
		return alertmanagerCaller{}, err
	case from.verify == nil:
		return alertmanagerCaller{}, errorf(unauthorized, "channel %q has no credential, so only the admin token reads and silences its "+
			"alerts; set ingress_token, or send the admin token", from.channel)
	case from.signs:
		return alertmanagerCaller{}, errSignsBody(from)
	}
	return alertmanagerCaller{channel: from.channel, credential: from.name, maySilence: from.maySilence}, nil
}

// adminCredential is what the audit log calls the admin token.
const adminCredential = "admin token"

// auditSilence records who made or ended a silence. The author of a silence is what its sender claims.
func (s *Server) auditSilence(in *ingestRequest, caller alertmanagerCaller, what string, more ...any) {
	s.audit(in.r, what, append([]any{"credential", caller.credential, "client", in.address.String()}, more...)...)
}

// readAdminBody reads the body of a request with the admin token, if the channel accepts its address.
func (s *Server) readAdminBody(in *ingestRequest, channel string) error {
	if _, err := s.ingressOf(in, channel); err != nil {
		return err
	}
	if err := in.reserved.authenticated(channel); err != nil {
		return err
	}
	if err := s.readBody(in); err != nil {
		return err
	}
	return s.decompress(in)
}

// adminTokenOf returns what a request presents where the admin token may be.
func adminTokenOf(in *ingestRequest) string {
	if in.token != "" {
		return in.token
	}
	return bearer(in.r)
}

// errSignsBody is the error for a credential whose signature does not cover what the method and the path of a request say.
func errSignsBody(from sender) error {
	return errorf(unauthorized, "credential %q of channel %q signs the body, not the path, which says what happened; use a token",
		from.name, from.channel)
}

// requireJSON refuses a body that is announced as something else.
func (in *ingestRequest) requireJSON() error {
	header := in.r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(header)
	if header == "" || err == nil && media == jsonType {
		return nil
	}
	return errorf(unsupportedMediaType, "unsupported media type %q, only [application/json] are allowed", cutBytes(header, maxQuoted))
}

// decodeAlertmanagerBody decodes the body of a request into v; what names it in errors.
func (in *ingestRequest) decodeAlertmanagerBody(what string, v any) error {
	err := json.Unmarshal(in.body.plain, v)
	switch {
	case len(in.body.plain) == 0, errors.Is(err, io.EOF):
		return errRequired(what)
	case err != nil:
		return errorf(events.BadJSON, "parsing %s body from \"\" failed, because %v", what, err)
	}
	return nil
}

// alertmanagerTime is how Alertmanager writes times.
type alertmanagerTime time.Time

// MarshalJSON implements [json.Marshaler].
func (t alertmanagerTime) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// receiver is a destination of alerts: a channel.
type receiver struct {
	Name string `json:"name"`
}

func (s *Server) listReceivers(d door, in *ingestRequest) error {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	s.writeJSON(in.w, in.r, http.StatusOK, []receiver{{caller.channel}})
	return nil
}

// alertmanagerVersion is the version of Alertmanager whose API this is: clients refuse some versions.
const alertmanagerVersion = "0.28.0"

func (s *Server) alertmanagerStatus(d door, in *ingestRequest) error {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return err
	}
	config := fmt.Sprintf("global:\n  resolve_timeout: %s\nroute:\n  receiver: %[2]s\n  group_by:\n  - alertname\nreceivers:\n- name: %[2]s\n",
		s.resolveTimeouts[caller.channel], caller.channel)
	s.writeJSON(in.w, in.r, http.StatusOK, map[string]any{
		"cluster": map[string]any{"peers": []string{}, "status": "disabled"},
		"config":  map[string]string{"original": config},
		"uptime":  alertmanagerTime(s.opts.Guard.since),
		"versionInfo": map[string]string{
			"branch": "slackrelay", "buildDate": "", "buildUser": "slackrelay", "goVersion": runtime.Version(), "revision": "",
			"version": alertmanagerVersion,
		},
	})
	return nil
}

// alertmanagerHealth replies that the relay takes alerts in; while it drains, it is healthy and not ready.
func (s *Server) alertmanagerHealth(_ door, in *ingestRequest) error {
	if s.draining.Load() && strings.HasSuffix(in.r.URL.Path, "/ready") {
		return errorf(unavailable, "this replica is about to stop")
	}
	writeSlackText(in.w, http.StatusOK, "OK")
	return nil
}
