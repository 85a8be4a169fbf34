package server

import (
	"bytes"
	"cmp"
	"io"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxToken is how many bytes of a form field are read for a token.
const maxToken = 4 << 10

// slackFields returns the fields of a call of Slack's Web API that the relay itself needs.
func slackFields(plain []byte) (fields map[string]string, ok bool) {
	return bodyFields(plain, "channel", "token", "ts", "text")
}

// bodyFields returns the texts of fields of the body's outermost object. Everything else is skipped and not kept, because the
// sender may not be authenticated yet. ok is false if the body is not a JSON object.
func bodyFields(plain []byte, names ...string) (fields map[string]string, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(plain), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, false
	}
	fields = map[string]string{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		wanted := slices.IndexFunc(names, func(wanted string) bool { return string(name) == `"`+wanted+`"` })
		if wanted < 0 || dec.PeekKind() != '"' {
			if dec.SkipValue() != nil {
				return nil, false
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		fields[names[wanted]] = value.String()
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	_, err := dec.ReadToken()
	return fields, err == io.EOF //nolint:errorlint // readers return it unwrapped
}

// token returns the token in a body, without decoding the rest.
func (b *body) token() string {
	switch first := bytes.TrimLeft(b.plain, " \t\r\n"); {
	case b.media == multipartType:
		return multipartToken(b.plain, b.params["boundary"])
	case b.media == formType && len(first) > 0 && first[0] != '{' && first[0] != '[':
		return formToken(b.plain)
	default:
		return jsonToken(b.plain)
	}
}

func jsonToken(plain []byte) string {
	fields, _ := slackFields(plain)
	return fields["token"]
}

func formToken(plain []byte) (token string) {
	for field := range bytes.SplitSeq(plain, []byte("&")) {
		name, value, _ := bytes.Cut(field, []byte("="))
		switch {
		case string(name) == "token":
			if len(value) <= maxToken {
				text, _ := url.QueryUnescape(string(value))
				token = cmp.Or(token, text)
			}
		case slices.Contains(jsonFields, string(name)):
			text, _ := url.QueryUnescape(string(value))
			token = cmp.Or(token, jsonToken([]byte(text)))
		}
	}
	return token
}

func multipartToken(plain []byte, boundary string) (token string) {
	for parts := multipart.NewReader(bytes.NewReader(plain), boundary); token == ""; {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		switch name := part.FormName(); {
		case name == "token":
			var text strings.Builder
			io.Copy(&text, io.LimitReader(part, maxToken)) //nolint:errcheck // a part of a token is not a valid one
			token = text.String()
		case slices.Contains(jsonFields, name):
			text, _ := io.ReadAll(part)
			token = jsonToken(text)
		}
	}
	return token
}
