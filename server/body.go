package server

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"slackrelay/events"
)

// body is what a sender posted.
type body struct {
	wire  []byte // as it came, which is what signatures are of
	plain []byte // unpacked: JSON, or what its Content-Type says
	form  url.Values
	// fromQuery says that the body is empty, and plain is what the address says.
	fromQuery bool

	media  string
	params map[string]string
}

// buffers are those that bodies were read into before.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the largest buffer that is kept for the next body.
const maxPooled = 64 << 10

// release gives the buffer of a body back, once nothing points into it.
func (b *body) release() {
	if b.wire != nil && cap(b.wire) <= maxPooled {
		buffer := b.wire[:0]
		buffers.Put(&buffer)
	}
	b.wire = nil
}

// readWire reads a body within bounds, and unpacks nothing.
func (s *Server) readWire(w http.ResponseWriter, r *http.Request, h *hold) (*body, error) {
	media, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	buffer, ok := buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	b := &body{media: media, params: params}
	b.wire, err = h.read(*buffer, http.MaxBytesReader(w, r.Body, s.opts.MaxBody), r.ContentLength, s.opts.MaxBody)
	if err == nil {
		return b, nil
	}
	b.release()
	if _, refused := errors.AsType[*events.InputError](err); refused {
		return nil, err
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errorf(bodyTooLarge, "the body has more than %d bytes; split it", tooLarge.Limit)
	}
	return nil, errorf(events.BadJSON, "the body ended early or arrived too slowly; send it again")
}

// parse makes JSON of an unpacked body, when it is its turn.
func (s *Server) parse(r *http.Request, b *body, h *hold) error {
	objects := bytes.Count(b.plain, []byte{'{'})
	if err := h.decode(r.Context(), int64(len(b.plain)+eventWeight*objects)); err != nil {
		return err
	}
	switch b.media {
	case formType:
		b.form = formOf(b.plain)
	case multipartType:
		var err error
		if b.form, err = multipartForm(b.plain, b.params["boundary"], s.opts.MaxBody); err != nil {
			return err
		}
	}
	if b.form != nil {
		b.plain = formJSON(b.form)
	}
	if len(b.plain) == 0 { // a sender that puts what it says into the address
		b.plain, b.fromQuery = queryJSON(r.URL.Query()), true
	}
	return nil
}

const (
	jsonType      = "application/json"
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// mediaType accepts what senders label JSON with: JSON types, nothing, text, and forms; and any type whose body is the
// data of a CloudEvent.
func mediaType(r *http.Request) (media string, params map[string]string, err error) {
	header := r.Header.Get("Content-Type")
	if header == "" || header == jsonType { // as nearly always
		return header, nil, nil
	}
	media, params, err = mime.ParseMediaType(header)
	switch {
	case r.Header.Get("Ce-Specversion") != "":
		return "", nil, nil
	case err != nil:
	case media == jsonType, strings.HasSuffix(media, "+json"), media == "text/json", media == "text/plain",
		media == formType, media == multipartType:
		return media, params, nil
	}
	return "", nil, errorf(unsupportedMediaType, "Content-Type %q is not understood; send application/json", header)
}

// unpack unpacks a body. What it unpacks to is bounded as the body itself is.
func (s *Server) unpack(r *http.Request, b *body, h *hold) error {
	encoding := r.Header.Get("Content-Encoding")
	var reader io.ReadCloser
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		b.plain = b.wire
		return nil
	case "gzip", "x-gzip":
		reader, err = gzip.NewReader(bytes.NewReader(b.wire))
	case "deflate": // that of zlib, as the standard says
		reader, err = zlib.NewReader(bytes.NewReader(b.wire))
	default:
		return errorf(unsupportedMediaType, "Content-Encoding %q is not supported; send the body uncompressed or as gzip", encoding)
	}
	if err != nil {
		return errorf(events.BadJSON, "Content-Encoding is %s, but the body is not; correct the header or the body", encoding)
	}
	defer reader.Close()
	b.plain, err = h.read(nil, io.LimitReader(reader, s.opts.MaxBody+1), -1, s.opts.MaxBody)
	if _, refused := errors.AsType[*events.InputError](err); refused {
		return err
	}
	switch {
	case err != nil:
		return errorf(events.BadJSON, "Content-Encoding is %s, but the body is not; correct the header or the body", encoding)
	case int64(len(b.plain)) > s.opts.MaxBody:
		return errorf(bodyTooLarge, "the decompressed body has more than %d bytes; split it", s.opts.MaxBody)
	}
	return nil
}

// formOf parses a form. curl -d labels plain JSON as a form: that is none.
func formOf(plain []byte) url.Values {
	if first := bytes.TrimLeft(bytes.TrimPrefix(plain, []byte("\xef\xbb\xbf")), " \t\r\n"); len(first) == 0 || first[0] == '{' || first[0] == '[' {
		return nil
	}
	form, err := url.ParseQuery(string(plain))
	if err != nil {
		return nil // no JSON either; decoding says so
	}
	return form
}

func multipartForm(plain []byte, boundary string, limit int64) (url.Values, error) {
	form, err := multipart.NewReader(bytes.NewReader(plain), boundary).ReadForm(limit)
	if err != nil {
		return nil, errorf(events.BadJSON, "the body is not the multipart form that its Content-Type says")
	}
	defer form.RemoveAll() //nolint:errcheck // the body is smaller than what is kept in memory
	return url.Values(form.Value), nil
}

// jsonFields are the fields of forms in which senders put all of their JSON: GitHub, Slack's senders, Uptime Kuma.
var jsonFields = []string{"payload", "data"}

// formJSON is the JSON in a form, or else its fields as an object.
func formJSON(form url.Values) []byte {
	for _, name := range jsonFields {
		if text := strings.TrimSpace(form.Get(name)); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return []byte(text)
		}
	}
	fields := map[string]string{}
	for name := range form {
		fields[name] = strings.ToValidUTF8(form.Get(name), "�")
	}
	if len(fields) == 0 {
		return nil
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil // texts can always be encoded
	}
	return encoded
}

// reserved are the parameters of the relay's own in an address.
var reserved = []string{"token", "category", "test"}

func queryJSON(query url.Values) []byte {
	for _, name := range reserved {
		query.Del(name)
	}
	return formJSON(query)
}
