package server

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"slackrelay/events"
)

// opsgenieSource is the body format of Opsgenie.
const opsgenieSource = "opsgenie"

// opsgenieDoor is a method of Opsgenie's Alert API (https://docs.opsgenie.com/docs/alert-api). The key is that of the integration,
// and the channel the one that accepts it. A request becomes the body that Opsgenie's own webhook would have.
func opsgenieDoor(webhook func(in *ingestRequest) ([]byte, error)) door {
	return door{
		source: opsgenieSource, place: "the key in the header Authorization: GenieKey",
		handle: func(d door, s *Server, in *ingestRequest) error { return s.acceptOpsgenie(d, in, webhook) },
		fail:   failOpsgenie,
	}
}

// acceptOpsgenie handles a request. Without a body from webhook there is nothing to post.
func (s *Server) acceptOpsgenie(d door, in *ingestRequest, webhook func(in *ingestRequest) ([]byte, error)) error {
	in.token = schemeToken(in.r, "GenieKey")
	from, err := s.identifyAtDoor(d, in)
	if err != nil {
		return err
	}
	if from.signs {
		return errSignsBody(from)
	}
	if err := s.parse(in); err != nil {
		return err
	}
	if in.body.plain, err = webhook(in); err != nil {
		return err
	}
	if in.body.plain != nil {
		arrival, err := s.decode(in, from)
		if err != nil {
			return err
		}
		if _, err := s.submit(in, arrival); err != nil {
			return err
		}
	}
	in.release()
	s.writeJSON(in.w, in.r, http.StatusAccepted, map[string]any{
		"result": "Request will be processed", "took": time.Since(in.now).Seconds(), "requestId": newUUID(),
	})
	return nil
}

// requireMethod refuses a method that is not among these.
func (in *ingestRequest) requireMethod(methods ...string) error {
	if slices.Contains(methods, in.r.Method) {
		return nil
	}
	for _, method := range methods {
		in.w.Header().Add("Allow", method)
	}
	return errorf(methodNotAllowed, "the relay does not support %s here", cutBytes(in.r.Method, maxQuoted))
}

// createOpsgenieAlert returns the webhook of a new alert, whose fields are those of the request.
func createOpsgenieAlert(in *ingestRequest) ([]byte, error) {
	if err := in.requireMethod(http.MethodPost); err != nil {
		return nil, err
	}
	fields, ok := bodyFields(in.body.plain, "message")
	switch {
	case !ok:
		return nil, errorf(events.BadJSON, "the body is not a JSON object")
	case fields["message"] == "":
		return nil, errorf(events.BadField, "message is empty; set it to the title of the alert")
	}
	return slices.Concat([]byte(`{"action":"Create","alert":`), in.body.plain, []byte("}")), nil
}

func deleteOpsgenieAlert(in *ingestRequest) ([]byte, error) {
	if err := in.requireMethod(http.MethodDelete); err != nil {
		return nil, err
	}
	return opsgenieWebhook(in, "Delete")
}

// The requests for an existing alert: those that are posted, with the names that Opsgenie's webhook gives them, and those that
// change a field of it, which are accepted and not posted.
var (
	opsgenieActions = map[string]string{
		"close": "Close", "acknowledge": "Acknowledge", "unacknowledge": "UnAcknowledge", "notes": "AddNote",
	}
	opsgenieUpdates = []string{"message", "description", "priority"}
)

func changeOpsgenieAlert(in *ingestRequest) ([]byte, error) {
	name := in.r.PathValue("action")
	if slices.Contains(opsgenieUpdates, name) {
		return nil, in.requireMethod(http.MethodPut)
	}
	action, ok := opsgenieActions[name]
	if !ok {
		return nil, errorf(notFound, "the relay does not support this request for an alert; use close, acknowledge, unacknowledge or notes")
	}
	if err := in.requireMethod(http.MethodPost); err != nil {
		return nil, err
	}
	return opsgenieWebhook(in, action)
}

// opsgenieWebhook returns the webhook of an action on an alert. Whatever kind of identifier the sender uses, it is what the alert is
// known by: the relay has no other.
func opsgenieWebhook(in *ingestRequest, action string) ([]byte, error) {
	fields, ok := bodyFields(in.body.plain, "user", "source", "note")
	if !ok && len(in.body.plain) > 0 {
		return nil, errorf(events.BadJSON, "the body is not a JSON object")
	}
	query := in.query()
	alert := map[string]string{"alias": in.r.PathValue("identifier")}
	for _, name := range []string{"user", "source", "note"} {
		alert[name] = cmp.Or(fields[name], query.Get(name))
	}
	encoded, err := json.Marshal(map[string]any{"action": action, "alert": alert})
	if err != nil {
		return nil, fmt.Errorf("encode a webhook: %w", err)
	}
	return encoded, nil
}

func failOpsgenie(s *Server, f doorFault) {
	reply := map[string]any{"message": f.message, "took": 0.0, "requestId": newUUID()}
	if f.code == events.BadField || f.code == events.EmptyBody {
		f.status = http.StatusUnprocessableEntity
		reply["message"] = "Request body is not processable. Please check the errors."
		reply["errors"] = map[string]string{"message": f.message}
	}
	f.writeJSON(s, f.status, reply)
}

// newUUID returns a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
