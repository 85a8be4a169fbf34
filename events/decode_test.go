package events_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden is a webhook's body and, beside it, the events that it becomes.
type golden struct {
	Named  string            `json:"named,omitempty"`  // the source that the path names
	Header map[string]string `json:"header,omitempty"` // beside a delivery id
	Raw    string            `json:"raw,omitempty"`    // the body, where it is no JSON
	Body   json.RawMessage   `json:"body,omitempty"`
	Events []events.Event    `json:"events"`
}

func (g golden) webhook() events.Webhook {
	w := events.Webhook{Source: g.Named, Body: append([]byte(g.Raw), g.Body...), Header: http.Header{"Idempotency-Key": {"delivery-1"}}}
	for name, value := range g.Header {
		w.Header.Set(name, value)
	}
	return w
}

func goldens(t *testing.T) map[string]golden {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]golden{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var g golden
		require.NoError(t, json.Unmarshal(raw, &g))
		all[file] = g
	}
	return all
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for file, want := range goldens(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			got, err := events.Decode(want.webhook())
			require.NoError(t, err)
			if *update {
				want.Events = got
				require.NoError(t, os.WriteFile(file, pretty(t, want), 0o600))
				return
			}
			require.Equal(t, string(pretty(t, want.Events)), string(pretty(t, got)))
			require.Equal(t, filepath.Base(filepath.Dir(file)), got[0].Source, "the folder is the source")
		})
	}
}

// Each source has goldens, and each webhook of them is claimed by its source alone.
func TestNoSourceTakesAnothersWebhooks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for file, g := range goldens(t) {
		source := filepath.Base(filepath.Dir(file))
		seen[source] = true
		if g.Named != "" {
			continue
		}
		want := []string{source}
		if source == "generic" {
			want = nil
		}
		require.Equal(t, want, events.Claims(g.webhook()), file)
		// A proxy may lose headers; whoever claims by the body is still alone.
		require.LessOrEqual(t, len(events.Claims(events.Webhook{Body: g.webhook().Body})), 1, file)
	}
	for _, source := range events.Sources() {
		require.True(t, seen[source], "no golden of %s", source)
	}
}

func pretty(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(v))
	return out.Bytes()
}

func decode(body string) ([]events.Event, error) {
	return events.Decode(events.Webhook{Body: []byte(body)})
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, source string
		code         events.Code
		says         string
	}{
		"empty":                {"", "", events.EmptyBody, "the body is empty"},
		"white space":          {" \n\t", "", events.EmptyBody, "the body is empty"},
		"not JSON":             {"hello", "", events.BadJSON, "must be a JSON object or an array"},
		"broken JSON":          {`{"title": "x"`, "", events.BadJSON, "ends too early, after byte 13"},
		"a comma too much":     {`{"title": "x",}`, "", events.BadJSON, "invalid character"},
		"two values":           {`{"title":"x"} {"title":"y"}`, "", events.BadJSON, "more after its end at byte 15"},
		"a string":             {`"title"`, "", events.BadJSON, "must be a JSON object or an array"},
		"invalid UTF-8":        {"{\"title\": \"caf\xe9\"}", "", events.BadJSON, "not valid UTF-8 at byte 14"},
		"deep nesting":         {`{"title":"x","labels":` + strings.Repeat(`{"a":`, 20_000) + strings.Repeat("}", 20_000) + "}", "", events.BadJSON, "nested more than 100 deep at byte"},
		"deep arrays":          {strings.Repeat("[", 500_000), "", events.BadJSON, "nested more than 100 deep at byte"},
		"no title, no text":    {`{"category":"x"}`, "", events.BadField, "title or text is needed"},
		"title is a number":    {`{"title": 5}`, "", events.BadField, "title must be a string, not a number"},
		"text is an object":    {`{"text": {}}`, "", events.BadField, "text must be a string, not an object"},
		"severity is a list":   {`{"title":"x","severity":["high"]}`, "", events.BadField, "severity must be a string, not an array"},
		"labels is a list":     {`{"title":"x","labels":["a"]}`, "", events.BadField, "labels must be an object"},
		"a label is an object": {`{"title":"x","labels":{"a":{}}}`, "", events.BadField, "labels.a must be a string"},
		"id is true":           {`{"title":"x","id":true}`, "", events.BadField, "id must be a string or a number"},
		"id too long":          {`{"title":"x","id":"` + strings.Repeat("i", 257) + `"}`, "", events.BadField, "id has 257 bytes"},
		"one of three":         {`[{"title":"x"},{"title":"y"},{"title":true}]`, "", events.BadField, "events[2].title must be a string, not true or false"},
		"a label of one":       {`{"events":[{"title":"x"},{"title":"y","labels":{"a":[]}}]}`, "", events.BadField, "events[1].labels.a must be"},
		"not an object":        {`[5]`, "", events.BadField, "events[0] must be an object, not a number"},
		"events is no list":    {`{"events": {}}`, "", events.BadField, "events must be an array, not an object"},
		"no events":            {`[]`, "", events.NoEvents, "no events"},
		"events is empty":      {`{"events": []}`, "", events.NoEvents, "no events"},
		"1,001 events":         {`[{"title":"x"}` + strings.Repeat(`,{"title":"x"}`, 1000) + `]`, "", events.TooManyEvents, "1001 events, at most 1000"},
		"unknown source":       {`{"title":"x"}`, "nagios", events.UnknownSource, `"nagios" is unknown; one of alertmanager, argocd`},
		"named, other shape":   {`{"title":"x"}`, "alertmanager", events.NoEvents, "no events"},
		"alerts is no list":    {`{"alerts":{},"groupKey":""}`, "", events.BadField, "alerts must be an array, not an object"},
		"a label is a list":    {`{"alerts":[{"labels":{"a":[]}}],"groupKey":""}`, "", events.BadField, "alerts[0].labels.a must be a string, a number"},
		"a name twice":         {`{"title":"x","labels":{"a":"1","a":"2"}}`, "", events.BadJSON, "labels.a stands twice in one object, at byte 31"},
		"a name twice above":   {`{"title":"x","title":"y"}`, "", events.BadJSON, "title stands twice in one object"},
		"a time is none":       {`{"alerts":[{},{"startsAt":"noon"}],"groupKey":""}`, "", events.BadField, `alerts[1].startsAt is not an RFC 3339 time: "noon"`},
		"1,001 alerts":         {`{"groupKey":"","alerts":[{}` + strings.Repeat(`,{}`, 1000) + `]}`, "", events.TooManyEvents, "1001 events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := events.Decode(events.Webhook{Source: c.source, Body: []byte(c.body)})
			var input *events.InputError
			require.ErrorAs(t, err, &input)
			require.Equal(t, c.code, input.Code, input.Message)
			require.Contains(t, input.Message, c.says)
			require.Less(t, len(input.Message), 500)
		})
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	one := func(body string, header http.Header) string {
		all, err := events.Decode(events.Webhook{Body: []byte(body), Header: header})
		require.NoError(t, err)
		return all[len(all)-1].ID
	}
	delivery := http.Header{"Idempotency-Key": {"d-7"}}
	require.Equal(t, "mine", one(`{"title":"x","id":"mine"}`, delivery), "the sender's own id")
	require.Equal(t, "42", one(`{"title":"x","id":42}`, nil))
	require.Equal(t, "d-7#1", one(`[{"title":"x"},{"title":"x"}]`, delivery), "else delivery and place")
	first, second := one(`{"title":"x"}`, nil), one(`{"title":"x"}`, nil)
	require.NotEqual(t, first, second, "identical anonymous events are two")

	alert := `{"groupKey":"","alerts":[{"status":"firing","fingerprint":"f1","startsAt":"2026-11-20T07:00:00+01:00"}]}`
	require.Equal(t, "f1:firing:2026-11-20T06:00:00Z", one(alert, delivery), "fingerprint, status, start")
	unlabelled := `{"groupKey":"","alerts":[{"status":"firing","labels":{"a":"b"}}]}`
	first, second = one(unlabelled, nil), one(unlabelled, nil)
	require.NotEqual(t, first, second, "without a start time it may be another occurrence")
}

func TestNormalizeCategory(t *testing.T) {
	t.Parallel()
	for original, want := range map[string]string{
		"errors":                  "errors",
		"HighErrorRate":           "higherrorrate",
		"Disk full (db-1)":        "disk-full-db-1",
		"  a.b_c-d  ":             "a.b_c-d",
		"":                        "uncategorized",
		"---":                     "uncategorized",
		"!?":                      "uncategorized",
		"naïve":                   "na-ve-f86fd89d",
		"警告":                      "-a8b7a448",
		"a{b}:c\x00d":             "a-b-c-d",
		strings.Repeat("x", 100):  strings.Repeat("x", 100),
		strings.Repeat("Xy", 101): strings.Repeat("xy", 46)[:91] + "-",
	} {
		got := events.NormalizeCategory(original)
		require.LessOrEqual(t, len(got), 100)
		require.Regexp(t, `^[a-z0-9._-]+$`, got)
		if strings.HasSuffix(want, "-") { // cut: a hash follows
			require.Regexp(t, "^"+want+"[0-9a-f]{8}$", got)
			continue
		}
		require.Equal(t, want, got, "%q", original)
	}
	require.NotEqual(t, events.NormalizeCategory(strings.Repeat("x", 101)), events.NormalizeCategory(strings.Repeat("x", 102)))
}

func TestSeverityAndStatus(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]events.Severity{
		"critical": events.Critical, "Fatal": events.Critical, "P1": events.Critical, "error": events.Error,
		"HIGH": events.Error, "warn": events.Warning, "info": events.Info, " notice ": events.Info,
		"": events.Warning, "purple": events.Warning,
	} {
		all, err := decode(fmt.Sprintf(`{"title":"x","severity":%q,"status":"banana"}`, word))
		require.NoError(t, err)
		require.Equal(t, want, all[0].Severity, word)
		require.Equal(t, "banana", all[0].Labels["status"], "an unknown word is kept")
		if word != string(want) {
			require.Equal(t, word, all[0].Labels["severity"], "the original is kept")
		}
	}
	all, err := decode(`[{"title":"x","status":"Resolved"},{"title":"x","status":"firing"},{"title":"x"}]`)
	require.NoError(t, err)
	require.Equal(t, []events.Status{"resolved", "firing", ""}, []events.Status{all[0].Status, all[1].Status, all[2].Status})
}

func TestLongFieldsAreCut(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for i := range 100 {
		labels[fmt.Sprintf("l%03d", i)] = strings.Repeat("v", 2000)
	}
	labels["a"+strings.Repeat("n", 2000)] = "long name"
	body, err := json.Marshal(map[string]any{"link": "https://x.example/" + strings.Repeat("u", 5000), "title": strings.Repeat("é", 5000), "text": strings.Repeat("t", 50_000), "labels": labels})
	require.NoError(t, err)
	roomy, err := events.NewDecoder(events.Options{Limits: events.Limits{Event: 1 << 20}})
	require.NoError(t, err)
	all, err := roomy.Decode(events.Webhook{Body: body})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 999)+"…", all[0].Title)
	require.Len(t, []rune(all[0].Text), 12_000)
	require.Len(t, all[0].Labels, 64)
	require.Len(t, []rune(all[0].Labels["l000"]), 1000)
	require.Equal(t, "long name", all[0].Labels["a"+strings.Repeat("n", 198)+"…"])
	require.Empty(t, all[0].Links, "an address that is too long is kept as a label")
}

func TestAByteOrderMarkIsNoFault(t *testing.T) {
	t.Parallel()
	all, err := decode("\xef\xbb\xbf" + `{"title":"x"}`)
	require.NoError(t, err)
	require.Equal(t, "x", all[0].Title)
}

// Real webhooks, where a folder of them is at hand: <folder>/<source>/*.json. Folders that are no source hold webhooks of
// formats that nobody knows.
func TestRealPayloads(t *testing.T) {
	t.Parallel()
	root := os.Getenv("PAYLOADS_DIR") //nolint:forbidigo // a folder of test data is no configuration of the product
	if root == "" {
		t.Log("PAYLOADS_DIR is not set: no real payloads at hand")
		return
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		all, err := events.Decode(events.Webhook{Body: body})
		if unreadable[filepath.Base(file)] {
			require.Error(t, err, file)
			continue
		}
		require.NoError(t, err, file)
		want, ok := map[string]string{"grafana_legacy": "grafana", "slack_shaped": "slack"}[folder]
		switch {
		case strings.HasPrefix(filepath.Base(file), "outgoing_"): // another thing that Slack sends itself
			want = "generic"
		case !ok && slices.Contains(events.Sources(), folder):
			want = folder
		case !ok:
			want = "generic"
		}
		for _, e := range all {
			require.Equal(t, want, e.Source, file)
			require.NotEmpty(t, e.Title, file)
			require.NotEmpty(t, e.ID, file)
			t.Logf("%s/%s: %s %s %s %q", folder, filepath.Base(file), e.Category, e.Severity, e.Status, e.Title)
		}
	}
}

// unreadable are the webhooks that say nothing.
var unreadable = map[string]bool{"batch_empty.json": true, "webhook_null_text.json": true}

// Every source is fuzzed from its goldens on, named and found; or only SOAK_SOURCE, named.
func FuzzDecode(f *testing.F) {
	only := os.Getenv("SOAK_SOURCE") //nolint:forbidigo // what to test is no configuration of the product
	for _, seed := range []string{
		`{"title":"x","labels":{"a":1},"id":7}`, `[{"text":"y"}]`, `{"events":[{"title":"z"}]}`,
		`{"groupKey":"k","alerts":[{"labels":{"alertname":"A"},"startsAt":"2026-11-20T07:00:00Z"}],"truncatedAlerts":1}`,
	} {
		f.Add([]byte(seed), "", "", "")
		f.Add([]byte(seed), "alertmanager", "", "")
	}
	f.Add([]byte(`{"Type":"Notification","MessageId":"1","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":" "}`), "sns", "", "")
	files, err := filepath.Glob(filepath.Join("testdata", cmp.Or(only, "*"), "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		var g golden
		require.NoError(f, json.Unmarshal(raw, &g))
		w := g.webhook()
		f.Add(w.Body, "", "", "")
		for name, value := range g.Header {
			f.Add(w.Body, filepath.Base(filepath.Dir(file)), name, value)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, source, header, value string) {
		w := events.Webhook{Source: cmp.Or(only, source), Body: bytes.Clone(body), Header: http.Header{}}
		w.Header.Set(header, value)
		all, err := events.Decode(w)
		if err != nil {
			var input *events.InputError
			require.ErrorAs(t, err, &input)
			require.Less(t, len(input.Message), 1000)
			return
		}
		before, err := json.Marshal(all)
		require.NoError(t, err)
		for i := range w.Body {
			w.Body[i] = 'x'
		}
		after, err := json.Marshal(all)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "an event outlives the body")
		for _, e := range all {
			require.NotEmpty(t, e.ID)
			require.NotEmpty(t, e.Title+e.Text)
			require.Regexp(t, `^[a-z0-9._-]{1,100}$`, e.Category)
			_, err := json.Marshal(e)
			require.NoError(t, err)
		}
	})
}
