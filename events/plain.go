package events

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// isPlainText reports whether a body that is no JSON is a text: its first line is a title. A body that is declared to be JSON, or
// that begins like JSON, is not, so that its sender learns of the fault.
func isPlainText(body []byte, header http.Header) bool {
	media, _, _ := strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	if strings.HasSuffix(strings.TrimSpace(media), "json") || bytes.IndexByte(body, 0) >= 0 {
		return false
	}
	if first := body[0]; first != '{' && first != '[' {
		return !jsontext.Value(body).IsValid() // a JSON string or number alone is a mistake
	}
	next := bytes.TrimLeft(body[1:], " \t\r\n")
	return len(next) > 0 && bytes.IndexByte([]byte(`"{}[]`), next[0]) < 0
}

// decodePlain decodes a text, or XML. For a text it understands the headers of ntfy, too
// (https://docs.ntfy.sh/publish/#list-of-all-parameters).
func decodePlain(in input) ([]Event, error) {
	body := bytes.ToValidUTF8(in.body, []byte("\uFFFD"))
	if o := objectOfXML(body); o != nil {
		var event Event
		in.explain(0, fill(&event, o, body, allGaps))
		return []Event{event}, nil
	}
	text := cleaned(string(body))
	event := Event{Title: plainHeader(in.header, "Title"), Text: text}
	if event.Title == "" {
		event.Title = firstLine(text)
		_, rest, _ := strings.Cut(text, "\n")
		event.Text = strings.TrimSpace(rest)
	}
	event.setLabel("tags", plainHeader(in.header, "Tags"))
	event.addLink("Link", "click", plainHeader(in.header, "Click"))
	priority := priorities[strings.ToLower(plainHeader(in.header, "Priority"))]
	event.Severity = priority
	origins := fill(&event, fieldsOfText(event.Title, event.Text), body, gaps{
		category: true, severity: priority == "", status: true, link: len(event.Links) == 0, fingerprint: true, startedAt: true, id: true,
	})
	in.explain(0, []Origin{{Field: "title", Rule: "the header Title, or the first line"}}, origins)
	return []Event{event}, nil
}

// plainHeader returns what a header says about a text, in its usual form or with X- before it.
func plainHeader(header http.Header, name string) string {
	value := strings.TrimSpace(cmp.Or(header.Get(name), header.Get("X-"+name)))
	if decoded, err := new(mime.WordDecoder).DecodeHeader(value); err == nil {
		value = decoded
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}

// priorities are those of ntfy: 3 is the default and tells nothing.
var priorities = map[string]Severity{
	"5": Critical, "max": Critical, "urgent": Critical, "4": Error, "high": Error, "2": Info, "low": Info, "1": Info, "min": Info,
}

// textLine is a line that has a name and a value, as many tools write their mails: "- Severity: 1".
var textLine = regexp.MustCompile(`(?m)^[ \t*-]*([A-Za-z][A-Za-z _-]{1,30}):[ \t]+(\S[^\n]*)$`)

// maxTextLines is how many lines of a text are read as names and values.
const maxTextLines = 30

// fieldsOfText returns the title, and the lines of a text that have a name and a value.
func fieldsOfText(title, text string) object {
	all := object{{"title", quoted(title)}}
	for _, line := range textLine.FindAllStringSubmatch(text, maxTextLines) {
		if name := strings.TrimSpace(line[1]); all.field(name) == nil {
			all = append(all, member{name, quoted(line[2])})
		}
	}
	return all
}

// quoted returns a text as JSON.
func quoted(text string) jsontext.Value {
	value, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return jsontext.Value(`""`) // it is not UTF-8
	}
	return value
}
