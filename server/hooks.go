package server

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"slackrelay/events"
)

// hook takes a webhook in: who sends it, what it says, what becomes of it.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return errorf(methodNotAllowed, "webhooks are taken by POST, not by %s", r.Method)
	}
	channel := r.PathValue("channel")
	sender, err := s.authenticate(r, channel)
	if err != nil {
		return err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	all, err := events.Decode(events.Webhook{Source: r.PathValue("source"), Header: r.Header, Body: body})
	if err != nil {
		return err
	}
	receipt, err := s.opts.Intake.Take(r.Context(), channel, sender, all)
	if err != nil {
		return err
	}
	s.opts.Logger.DebugContext(r.Context(), "webhook taken in", "channel", channel, "sender", sender,
		"received", receipt.Received, "admitted", receipt.Admitted, "dropped", receipt.Dropped, "duplicate", receipt.Duplicate)
	s.writeJSON(w, r, http.StatusAccepted, receipt)
	return nil
}

// readBody reads the JSON of a webhook, within bounds, out of whatever it is packed in.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errorf(bodyTooLarge, "the body has more than %d bytes; split it", tooLarge.Limit)
	case err != nil:
		return nil, errorf(events.BadJSON, "the body ended before its announced length")
	}
	switch media {
	case formType:
		return formPayload(body), nil
	case multipartType:
		return multipartPayload(body, params["boundary"], s.opts.MaxBody)
	default:
		return body, nil
	}
}

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// mediaType accepts what senders label JSON with: JSON types, nothing, text, and forms.
func mediaType(r *http.Request) (media string, params map[string]string, err error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", nil, errorf(unsupportedMediaType, "Content-Encoding %q is not understood; send the body as it is", encoding)
	}
	header := r.Header.Get("Content-Type")
	if header == "" {
		return "", nil, nil
	}
	media, params, err = mime.ParseMediaType(header)
	switch {
	case err != nil:
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "text/json", media == "text/plain",
		media == formType, media == multipartType:
		return media, params, nil
	}
	return "", nil, errorf(unsupportedMediaType, "Content-Type %q is not understood; send application/json", header)
}

// formPayload is the field "payload" of a form. curl -d labels plain JSON as a form: that is taken as it is.
func formPayload(body []byte) []byte {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] == '{' || first[0] == '[' {
		return body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("payload") {
		return body // no JSON either; decoding says so
	}
	return []byte(form.Get("payload"))
}

func multipartPayload(body []byte, boundary string, limit int64) ([]byte, error) {
	form, err := multipart.NewReader(bytes.NewReader(body), boundary).ReadForm(limit)
	if err != nil {
		return nil, errorf(events.BadJSON, "the body is not the multipart form that its Content-Type says")
	}
	defer form.RemoveAll() //nolint:errcheck // the body is smaller than what is kept in memory
	values := form.Value["payload"]
	if len(values) == 0 {
		return nil, errorf(events.BadField, "payload is missing from the form; it must hold the JSON")
	}
	return []byte(values[0]), nil
}
