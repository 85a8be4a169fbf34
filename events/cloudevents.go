package events

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cloudevents is the format of the CNCF, in its three modes over HTTP: structured, a batch of those, and binary, where
// the attributes are headers and the body is the data
// (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md).
var cloudevents = source{
	name: "cloudevents",
	rank: byHeader,
	claims: func(in input) bool {
		return in.header.Get(ceVersion) != "" || isCloudEvent(in.object) || hasCloudEventsType(in.header) ||
			len(in.items) > 0 && isCloudEvent(objectOf(in.items[0]))
	},
	decode: decodeCloudEvents,
	opaque: func(header http.Header) bool { return header.Get(ceVersion) != "" },
}

const (
	cePrefix  = "Ce-"
	ceVersion = "Ce-Specversion"
)

func isCloudEvent(o object) bool { return o.has("specversion", "type", "source", "id") }

// ceMedia begins the media types of CloudEvents, with +json, -batch+json and the like after it.
const ceMedia = "application/cloudevents"

func hasCloudEventsType(header http.Header) bool {
	contentType := header.Get("Content-Type")
	if len(contentType) < len(ceMedia) { // as nearly always: it need not be parsed
		return false
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.HasPrefix(media, ceMedia)
}

func decodeCloudEvents(in input) ([]Event, error) {
	if in.header.Get(ceVersion) != "" {
		return []Event{binaryCloudEvent(in)}, nil
	}
	if in.object != nil {
		event, err := cloudEvent(in.object, in.field("data"), "")
		return []Event{event}, err
	}
	return each(in.items, in.limits, func(item jsontext.Value, i int) (Event, error) {
		fields := objectOf(item)
		return cloudEvent(fields, fields.field("data"), fmt.Sprintf("[%d]", i))
	})
}

// binaryCloudEvent reads the attributes from the headers, which are percent-encoded.
func binaryCloudEvent(in input) Event {
	fields := object{}
	for name, values := range in.header {
		attribute, ok := strings.CutPrefix(name, cePrefix)
		text, err := url.PathUnescape(values[0])
		if !ok || err != nil || !utf8.ValidString(text) {
			continue
		}
		if quoted, err := json.Marshal(text); err == nil {
			fields = append(fields, member{strings.ToLower(attribute), quoted})
		}
	}
	data := jsontext.Value(strings.TrimSpace(string(in.body)))
	if inner, items, err := parseBody(data, in.limits.Depth); err != nil || inner == nil && items == nil {
		data, err = json.Marshal(strings.ToValidUTF8(string(data), "�"))
		if err != nil {
			data = nil
		}
	}
	event, err := cloudEvent(fields, data, "")
	if err != nil { // a header is missing, so that only the kind is known
		event = Event{Category: fields.text("type"), Title: cmp.Or(fields.text("type"), "CloudEvent")}
	}
	return event
}

// ceContext are the attributes that have a place of their own.
var ceContext = map[string]bool{
	"specversion": true, "type": true, "id": true, "time": true, "data": true, "data_base64": true, "datacontenttype": true,
	"dataschema": true,
	"subject":    true, "severity": true, "status": true,
}

func cloudEvent(o object, data jsontext.Value, at string) (Event, error) {
	for _, attribute := range []string{"type", "source", "id"} {
		if o.text(attribute) == "" {
			return Event{}, badField(join(at, attribute), "is empty; a CloudEvent needs type, source and id")
		}
	}
	event := Event{
		ID: joined(" ", o.text("source"), o.text("id")), Category: o.text("type"), StartedAt: timeOf(o.text("time")),
	}
	event.Title = joined(": ", o.text("type"), o.text("subject"))
	status := cmp.Or(o.text("status"), suffixOf(o.text("type")))
	event.setSeverity(o.text("severity"))
	if inner := objectOf(data); inner != nil {
		g := Event{Title: subjectOf(inner)}
		fill(&g, inner, data, gaps{text: true, severity: event.Labels["severity"] == "" && o.text("severity") == "", status: true, link: true})
		event.Title = cmp.Or(inner.first("title"), joined(": ", event.Title, g.Title))
		event.Text = cmp.Or(inner.first("text"), g.Text, string(data))
		event.Links, status = g.Links, cmp.Or(status, string(g.Status))
		event.Severity = cmp.Or(g.Severity, event.Severity)
		event.setLabel("severity", g.Labels["severity"])
	} else if data != nil && data.Kind() != 'n' {
		event.Text = cmp.Or(textOf(data), string(data))
	} else if raw, err := base64.StdEncoding.DecodeString(o.text("data_base64")); err == nil && utf8.Valid(raw) {
		event.Text = string(raw)
	}
	if event.Status = statusOf(status); event.Status != NoStatus {
		event.Fingerprint = joined(" ", o.text("source"), o.text("subject"), strings.TrimSuffix(o.text("type"), status))
	}
	for _, m := range o.sorted() {
		if !ceContext[m.name] {
			event.setLabel(m.name, textOf(m.value))
		}
	}
	return event, nil
}

// suffixOf is the last word of a type like com.example.disk.resolved, where that is a status.
func suffixOf(kind string) string {
	last := kind[strings.LastIndexByte(kind, '.')+1:]
	if statusOf(last) != NoStatus {
		return last
	}
	return ""
}
