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

// body is the body of a webhook.
type body struct {
	wire   []byte  // as it was sent, which is what signatures cover
	buffer *[]byte // that wire may be in, from the pool; nil = it was released
	plain  []byte  // decompressed; after parseForm, JSON
	form   url.Values
	// fromQuery means that the body was empty, and plain was made of the query parameters.
	fromQuery bool

	media  string
	params map[string]string
}

// buffers are those of former bodies and receipts, for the next ones.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the largest buffer that is kept for the next body, in bytes.
const maxPooled = 64 << 10

// borrowBuffer returns an empty buffer.
func borrowBuffer() *[]byte {
	if buffer, ok := buffers.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// returnBuffer makes a borrowed buffer available again, with the bytes that were appended to it.
func returnBuffer(buffer *[]byte, used []byte) {
	if cap(used) <= maxPooled {
		*buffer = used[:0]
		buffers.Put(buffer)
	}
}

// release returns the buffer of a body to the pool. Nothing may point into it any more. It may be called more than once.
func (b *body) release() {
	if b.wire != nil {
		returnBuffer(b.buffer, b.wire)
	}
	b.wire = nil
	b.buffer = nil
}

// readBody reads the body of a request within its bounds. It decompresses and parses nothing.
func (s *Server) readBody(in *ingestRequest) error {
	r := in.r
	media, params, err := mediaType(r)
	if err != nil {
		return err
	}
	b := &body{media: media, params: params, buffer: borrowBuffer()}
	b.wire, err = in.reserved.read(*b.buffer, http.MaxBytesReader(in.w, r.Body, s.opts.MaxBody), r.ContentLength, s.opts.MaxBody)
	if err == nil {
		in.body = b
		return nil
	}
	b.release()
	if _, refused := errors.AsType[*events.InputError](err); refused {
		return err
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errorf(bodyTooLarge, "the body has more than %d bytes; split it", tooLarge.Limit)
	}
	return errorf(events.BadJSON, "the body ended early or arrived too slowly; send it again")
}

const (
	jsonType      = "application/json"
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// headerValue returns the first value of a header, "" where there is none. The name must be canonical: the Get of a header makes
// each name canonical first, which takes longer than the look-up.
func headerValue(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// mediaType accepts the types that senders give JSON, text and XML: JSON types, none, text, XML, bytes and forms; and any type if
// the request is a CloudEvent in binary mode, whose body is the data.
func mediaType(r *http.Request) (media string, params map[string]string, err error) {
	header := headerValue(r, "Content-Type")
	if header == "" || header == jsonType { // as nearly always
		return header, nil, nil
	}
	media, params, err = mime.ParseMediaType(header)
	switch {
	case r.Header.Get("Ce-Specversion") != "":
		return "", nil, nil
	case err != nil:
	case media == jsonType, strings.HasSuffix(media, "json"), strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "xml"),
		media == formType, media == multipartType, media == "application/octet-stream":
		return media, params, nil
	}
	return "", nil, errorf(unsupportedMediaType, "Content-Type %q is not supported; send application/json or text/plain", header)
}

// decompress decompresses the body. The result is bounded as the body itself is.
func (s *Server) decompress(in *ingestRequest) error {
	b := in.body
	encoding := headerValue(in.r, "Content-Encoding")
	var reader io.ReadCloser
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		b.plain = b.wire
		return nil
	case "gzip", "x-gzip":
		reader, err = gzip.NewReader(bytes.NewReader(b.wire))
	case "deflate": // the zlib format, as the standard defines it
		reader, err = zlib.NewReader(bytes.NewReader(b.wire))
	default:
		return errorf(unsupportedMediaType, "Content-Encoding %q is not supported; send the body uncompressed or as gzip", encoding)
	}
	if err != nil {
		return errEncoding(encoding)
	}
	defer reader.Close()
	b.plain, err = in.reserved.read(nil, io.LimitReader(reader, s.opts.MaxBody+1), -1, s.opts.MaxBody)
	if _, refused := errors.AsType[*events.InputError](err); refused {
		return err
	}
	if err != nil {
		return errEncoding(encoding)
	}
	if int64(len(b.plain)) > s.opts.MaxBody {
		return errorf(bodyTooLarge, "the decompressed body has more than %d bytes; split it", s.opts.MaxBody)
	}
	return nil
}

// parseForm turns a form, or the query parameters of a request without a body, into JSON.
func (b *body) parseForm(in *ingestRequest, limit int64) (err error) {
	switch b.media {
	case formType:
		b.form = urlencodedForm(b.plain)
	case multipartType:
		if b.form, err = multipartForm(b.plain, b.params["boundary"], limit); err != nil {
			return err
		}
	}
	if b.form != nil {
		b.plain = formJSON(b.form)
	}
	if len(b.plain) == 0 {
		b.plain, b.fromQuery = queryJSON(in.query()), true
	}
	return nil
}

func errEncoding(encoding string) error {
	return errorf(events.BadJSON, "Content-Encoding is %s, but the body is not; correct the header or the body", encoding)
}

// urlencodedForm parses a form. It returns nil for JSON and for text, which curl -d labels as a form.
func urlencodedForm(plain []byte) url.Values {
	first := bytes.TrimLeft(bytes.TrimPrefix(plain, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(first) == 0 || first[0] == '{' || first[0] == '[' || bytes.ContainsAny(first, " \n") || !bytes.Contains(first, []byte("=")) {
		return nil // forms escape spaces
	}
	form, err := url.ParseQuery(string(plain))
	if err != nil {
		return nil // it is a text
	}
	return form
}

func multipartForm(plain []byte, boundary string, limit int64) (url.Values, error) {
	form, err := multipart.NewReader(bytes.NewReader(plain), boundary).ReadForm(limit)
	if err != nil {
		return nil, errorf(events.BadJSON, "Content-Type is multipart/form-data, but the body is not such a form; correct the header or the body")
	}
	defer form.RemoveAll() //nolint:errcheck // forms of this size are kept in memory, without files
	return url.Values(form.Value), nil
}

// jsonFields are the fields of forms that contain the whole JSON, as GitHub and Slack, Uptime Kuma, and tools for Discord send it.
var jsonFields = []string{"payload", "data", "payload_json"}

// formJSON returns the JSON that a form contains, or else its fields as an object; nil if it is empty.
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
		return nil // a map of strings can always be encoded
	}
	return encoded
}

// ownParameters are the query parameters that the relay itself reads.
var ownParameters = []string{"token", "category", "test", "track"}

func queryJSON(query url.Values) []byte {
	for _, name := range ownParameters {
		query.Del(name)
	}
	return formJSON(query)
}
